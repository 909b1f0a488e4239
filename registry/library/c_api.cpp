#include "c_api.h"

#include <algorithm>
#include <mutex>

#include "../host/error.h"
#include "../host/execute.h"
#include "../host/instance.h"
#include "../host/mutex.h"
#include "../host/specialization.h"
#include "library.h"

namespace pykernels::library {
namespace {

// The number of uses that an op caches.
constexpr size_t kMostInstances = 64;

// An op of the table and its cached uses.
class Function {
 public:
  explicit Function(int32_t number) : op_(MakeOp(number)), name_(ops[number].name) {}

  std::shared_ptr<const Instance> Find(const std::vector<CArgument>& inputs, const std::vector<CArgument>& outputs,
                                       const std::vector<pk_attr>& attributes) {
    const std::vector<int32_t> n_inputs = Counts(inputs), n_outputs = Counts(outputs);
    std::lock_guard lock(mutex_);
    for (const Known& known : known_) {
      if (known.inputs == n_inputs && known.outputs == n_outputs && HasAll(*known.instance, attributes)) {
        return known.instance;
      }
    }
    const pk_op& declared = op_->declared();
    auto made = std::make_shared<const Instance>(
        op_, name_, Attributes::Fill(declared, name_, attributes),
        DistributeTensors(declared.inputs, declared.n_inputs, {n_inputs, -1}, name_, "inputs"),
        DistributeTensors(declared.outputs, declared.n_outputs, {n_outputs, -1}, name_, "outputs"));
    if (known_.size() == kMostInstances) known_.erase(known_.begin());
    known_.push_back({n_inputs, n_outputs, made});
    return made;
  }

 private:
  struct Known {
    std::vector<int32_t> inputs, outputs;
    std::shared_ptr<const Instance> instance;
  };

  static std::vector<int32_t> Counts(const std::vector<CArgument>& arguments) {
    std::vector<int32_t> counts;
    for (const CArgument& argument : arguments) counts.push_back(argument.count);
    return counts;
  }

  static bool HasAll(const Instance& instance, const std::vector<pk_attr>& attributes) {
    return std::equal(attributes.begin(), attributes.end(), instance.attributes().begin(), instance.attributes().end(),
                      SameValue);
  }

  const std::shared_ptr<const Op> op_;
  const std::string name_;
  Mutex mutex_;
  std::vector<Known> known_;
};

Function& FindFunction(int32_t op) {
  static Mutex mutex;
  static auto* functions = new std::vector<std::unique_ptr<Function>>(n_ops);  // threads may outlive static objects
  std::lock_guard lock(mutex);
  auto& function = (*functions)[op];
  if (!function) function = std::make_unique<Function>(op);
  return *function;
}

std::vector<pykernels_array*> Flatten(const std::vector<CArgument>& arguments) {
  std::vector<pykernels_array*> arrays;
  for (const CArgument& argument : arguments) {
    for (int32_t i = 0; i < argument.count; ++i) {
      arrays.push_back(const_cast<pykernels_array*>(argument.arrays[i]));
      if (!arrays.back()) Fail(kCallError, "an array is a null pointer");
    }
  }
  return arrays;
}

void SetType(const pykernels_array& array, pk_tensor* tensor) {
  if (array.ndim < 0 || array.ndim > PK_MAX_NDIM) {
    Fail(kCallError, "'", tensor->argument, "' has ", array.ndim, " axes; ops take 0 to ", PK_MAX_NDIM);
  }
  tensor->dtype = array.dtype;
  tensor->ndim = array.ndim;
  std::copy(array.shape, array.shape + array.ndim, tensor->dims);
}

void Call(int32_t op, const std::vector<CArgument>& inputs, const std::vector<CArgument>& outputs,
          const std::vector<pk_attr>& attributes) {
  const std::shared_ptr<const Instance> instance = FindFunction(op).Find(inputs, outputs, attributes);
  const std::vector<pykernels_array*> given = Flatten(inputs), results = Flatten(outputs);
  Tensors types = instance->blank_inputs();
  std::vector<const void*> data;
  for (size_t i = 0; i < given.size(); ++i) {
    SetType(*given[i], &types[i]);
    data.push_back(given[i]->data ? given[i]->data : nowhere);
  }
  const std::shared_ptr<const Specialization> specialization = instance->Specialize(types);
  std::vector<Target> targets;
  bool are_complete = true;
  for (size_t i = 0; i < results.size(); ++i) {
    const pk_tensor& inferred = specialization->outputs()[i];
    are_complete = are_complete && (results[i]->data || CountElements(inferred) == 0);
    targets.push_back({results[i]->data ? results[i]->data : nowhere, Request::kWrite});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const pk_tensor& inferred = specialization->outputs()[i];
    if (are_complete) {
      pk_tensor own = inferred;
      SetType(*results[i], &own);
      if (own.dtype == inferred.dtype && SameShape(own, inferred)) continue;
      Fail(kCallError, "op '", instance->label(), "': the output '", instance->output_names()[i], "' is ",
           Describe(own), ", but has to be ", Describe(inferred));
    }
    results[i]->dtype = inferred.dtype;
    results[i]->ndim = inferred.ndim;
    std::copy(inferred.dims, inferred.dims + inferred.ndim, results[i]->shape);
  }
  if (!are_complete) return;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]->data && CountElements(types[i]) > 0) {
      Fail(kCallError, "op '", instance->label(), "': the input '", instance->input_names()[i], "' has no data");
    }
  }
  RunForward(*specialization, data, targets, false);
}

}  // namespace

int32_t Refuse(const char* op, char* error, size_t size) {
  return Report(error, size, [&] { Fail(kCallError, "op '", op, "' needs attributes: some have no default"); });
}

int32_t CallOp(int32_t op, const std::vector<CArgument>& inputs, const std::vector<CArgument>& outputs,
               const std::vector<pk_attr>& attributes, char* error, size_t size) {
  return Report(error, size, [&] { Call(op, inputs, outputs, attributes); });
}

}  // namespace pykernels::library
