#include "call.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "../host/dtype.h"
#include "../host/error.h"
#include "../host/parallel.h"
#include "threads.h"

namespace pykernels::jax {
namespace {

int32_t FromXla(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED: return PK_BOOL;
    case ffi::DataType::S8: return PK_INT8;
    case ffi::DataType::S16: return PK_INT16;
    case ffi::DataType::S32: return PK_INT32;
    case ffi::DataType::S64: return PK_INT64;
    case ffi::DataType::U8: return PK_UINT8;
    case ffi::DataType::U16: return PK_UINT16;
    case ffi::DataType::U32: return PK_UINT32;
    case ffi::DataType::U64: return PK_UINT64;
    case ffi::DataType::F16: return PK_FLOAT16;
    case ffi::DataType::BF16: return PK_BFLOAT16;
    case ffi::DataType::F32: return PK_FLOAT32;
    case ffi::DataType::F64: return PK_FLOAT64;
    case ffi::DataType::C64: return PK_COMPLEX64;
    case ffi::DataType::C128: return PK_COMPLEX128;
    default: return PK_INVALID_DTYPE;
  }
}

// Sets the dtype and shape of `type` to those of a buffer.
void Describe(const ffi::AnyBuffer& buffer, const Instance& instance, pk_tensor* type) {
  const ffi::AnyBuffer::Dimensions dims = buffer.dimensions();
  if (dims.size() > PK_MAX_NDIM) {
    Fail(kCallError, "op '", instance.label(), "': '", type->argument, "' has ", dims.size(),
         " axes; the most that an op can take are ", PK_MAX_NDIM);
  }
  type->dtype = FromXla(buffer.element_type());
  type->ndim = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), type->dims);
}

ffi::AnyBuffer Argument(const ffi::RemainingArgs& args, size_t i) { return *args.get<ffi::AnyBuffer>(i); }

ffi::AnyBuffer Result(const ffi::RemainingRets& results, size_t i) { return **results.get<ffi::AnyBuffer>(i); }

void* Data(const ffi::AnyBuffer& buffer) { return buffer.untyped_data() ? buffer.untyped_data() : nowhere; }

}  // namespace

Call::Call(const std::string& op_type, const Attributes::Strings& attributes, const std::vector<int32_t>& input_counts,
           const std::vector<int32_t>& output_counts, bool is_train)
    : instance_([&] {
        const std::shared_ptr<const Op> op = OpTable::Get().Find(op_type);
        const pk_op& declared = op->declared();
        return Instance(op, op_type, Attributes::Parse(declared, op_type, attributes),
                        DistributeTensors(declared.inputs, declared.n_inputs, {input_counts, -1}, op_type, "inputs"),
                        DistributeTensors(declared.outputs, declared.n_outputs, {output_counts, -1}, op_type,
                                          "outputs"));
      }()),
      n_plain_inputs_(instance_.blank_inputs().size() - instance_.n_states()),
      n_outputs_(instance_.blank_outputs().size()),
      is_train_(is_train) {}

void Call::Run(const ffi::RemainingArgs& args, const ffi::RemainingRets& results,
               const ffi::ThreadPool& threads) const {
  const Prepared* prepared = prepared_.load(std::memory_order_acquire);
  if (!prepared) prepared = &Prepare(args, results);
  // An allocation takes a tenth of the time of a small call.
  void* few[16];
  std::vector<void*> many;
  void** data = few;
  if (args.size() + n_outputs_ > std::size(few)) {
    many.resize(args.size() + n_outputs_);
    data = many.data();
  }
  size_t n = 0;
  for (size_t i = 0; i < n_plain_inputs_; ++i) data[n++] = Data(Argument(args, i));
  for (size_t i = n_outputs_; i < results.size(); ++i) data[n++] = Data(Result(results, i));
  for (size_t i = 0; i < n_outputs_; ++i) data[n++] = Data(Result(results, i));
  if (prepared->n_elements < kFewestToCut) return RunOn(*prepared, data);
  const LentThreads lent(threads);
  RunOn(*prepared, data);
}

void Call::RunOn(const Prepared& prepared, void** data) const {
  const Specialization& specialization = *prepared.specialization;
  int64_t detail[PK_DETAIL_SIZE];
  const int32_t status = RunKernel(prepared.kernel, data, specialization.dims().data(), prepared.scalars.data(),
                                   prepared.n_elements, detail);
  if (status != PK_OK) specialization.HandleFailure(status, data, prepared.scalars.data(), detail);
}

const Call::Prepared& Call::Prepare(const ffi::RemainingArgs& args, const ffi::RemainingRets& results) const {
  Tensors types = instance_.blank_inputs();
  const size_t n_results = n_outputs_ + instance_.n_states();
  if (types.size() != args.size() || n_results != results.size()) {
    Fail(kCallError, "op '", instance_.label(), "' has ", types.size(), " inputs and ", n_results,
         " results, but the program was made for ", args.size(), " and ", results.size(), "; make it again");
  }
  for (size_t i = 0; i < types.size(); ++i) Describe(Argument(args, i), instance_, &types[i]);
  // Do not hold the lock: this may wait for the GIL and compile.
  std::shared_ptr<const Specialization> made = instance_.Specialize(types);
  RequireInferred(*made, results);
  const pk_kernel& kernel = made->Kernel();
  const Tensors& outputs = made->outputs();
  const int64_t n_elements = outputs.empty() ? 0 : static_cast<int64_t>(CountElements(outputs.front()));
  auto prepared = std::unique_ptr<const Prepared>(
      new Prepared{made, kernel, made->Scalars(kernel, is_train_), n_elements});
  std::lock_guard lock(mutex_);
  if (!owned_) owned_ = std::move(prepared);
  prepared_.store(owned_.get(), std::memory_order_release);
  return *owned_;
}

void Call::RequireInferred(const Specialization& made, const ffi::RemainingRets& results) const {
  Tensors found = instance_.blank_outputs();
  for (size_t i = 0; i < found.size(); ++i) Describe(Result(results, i), instance_, &found[i]);
  for (size_t i = 0; i < found.size(); ++i) {
    if (SameTypes({found[i]}, {made.outputs()[i]})) continue;
    Fail(kCallError, "op '", instance_.label(), "': its definition infers ", pykernels::Describe(made.outputs()[i]),
         " for '", instance_.output_names()[i], "', but the program was made for ", pykernels::Describe(found[i]),
         "; make it again");
  }
}

}  // namespace pykernels::jax
