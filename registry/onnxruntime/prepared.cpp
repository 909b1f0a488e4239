#include "prepared.h"

#include <algorithm>

#include "../host/dtype.h"
#include "../host/error.h"
#include "dtype.h"

namespace pykernels::onnxruntime {
namespace {

// The number of input types that a node caches.
constexpr size_t kMostEntries = 64;

// Returns how many tensors each argument stands for. If a variadic argument precedes others, the total number decides;
// otherwise the slots do.
std::vector<int32_t> CountEach(const pk_argument* arguments, int32_t n, const std::vector<Slot>& slots,
                               const std::vector<bool>& is_given, const std::string& label, const char* what) {
  TensorCount count;
  const bool are_apart = std::none_of(arguments, arguments + std::max(n - 1, 0),
                                      [](const pk_argument& argument) { return argument.variadic != 0; });
  if (are_apart) {
    count.of_each.resize(n);
    for (size_t i = 0; i < is_given.size(); ++i) count.of_each[slots[i].argument] += is_given[i];
  } else {
    count.in_all = static_cast<int32_t>(std::count(is_given.begin(), is_given.end(), true));
  }
  return DistributeTensors(arguments, n, count, label, what);
}

bool HasCounts(const Instance& instance, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
  const pk_op& op = instance.op().declared();
  return NameTensors(op.inputs, inputs) == instance.input_names() &&
         NameTensors(op.outputs, outputs) == instance.output_names();
}

}  // namespace

PreparedTable::PreparedTable(const Variant& variant, Attributes attributes)
    : variant_(variant), label_(variant.type.name()), attributes_(std::move(attributes)) {}

bool PreparedTable::Entry::Serves(const Inputs& given) const {
  if (keys.size() != given.size()) return false;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Inputs::Input& input = given[i];
    if (keys[i].is_given != (input.data != nullptr)) return false;
    if (!input.data) continue;
    if (keys[i].type != input.type || keys[i].dims.size() != input.ndim) return false;
    if (!std::equal(keys[i].dims.begin(), keys[i].dims.end(), input.dims)) return false;
  }
  return true;
}

const Prepared* PreparedTable::FindSame(const OrtApi& api, const OrtKernelContext* context, void** data) const {
  const Entry* latest = latest_.load(std::memory_order_acquire);
  if (!latest || latest->checks.empty()) return nullptr;
  for (const ShapeCheck& check : latest->checks) {
    *data = check.Find(api, context);
    if (!*data++) return nullptr;
  }
  return &latest->prepared;
}

const Prepared& PreparedTable::Find(const Inputs& inputs, const OrtApi& api, const OrtKernelContext* context,
                                    std::shared_ptr<const void>* keep) const {
  const Entry* latest = latest_.load(std::memory_order_acquire);
  if (latest && latest->Serves(inputs)) return latest->prepared;
  {
    std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (!entry->Serves(inputs)) continue;
      latest_.store(entry.get(), std::memory_order_release);
      return entry->prepared;
    }
  }
  size_t n_outputs;
  Check(api, api.KernelContext_GetOutputCount(context, &n_outputs));
  // Do not hold the lock: this may wait for the GIL and compile.
  const std::shared_ptr<const Entry> made = Make(inputs, n_outputs);
  *keep = made;
  std::lock_guard lock(mutex_);
  if (entries_.size() < kMostEntries) {
    entries_.push_back(made);
    latest_.store(made.get(), std::memory_order_release);
  }
  return made->prepared;
}

std::shared_ptr<const PreparedTable::Entry> PreparedTable::Make(const Inputs& inputs, size_t n_outputs) const {
  const pk_op& op = variant_.type.op()->declared();
  auto entry = std::make_shared<Entry>();
  Prepared& prepared = entry->prepared;
  std::vector<bool> is_given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Inputs::Input& input = inputs[i];
    is_given.push_back(input.data != nullptr);
    if (!input.data) {
      entry->keys.push_back({false, 0, {}});
      continue;
    }
    entry->keys.push_back({true, input.type, {input.dims, input.dims + input.ndim}});
    const pk_argument& argument = op.inputs[variant_.type.inputs()[i].argument];
    const size_t alignment = std::clamp<size_t>(ItemSize(DtypeFromOnnx(input.type)), 1, alignof(double));
    prepared.inputs.push_back({i, alignment, argument.is_mutable != 0});
  }
  for (size_t i = 0; i < n_outputs; ++i) prepared.outputs.push_back(i);
  const std::vector<bool> wanted(n_outputs, true);
  prepared.instance = FindInstance(
      CountEach(op.inputs, op.n_inputs, variant_.type.inputs(), is_given, label_, "inputs"),
      CountEach(op.outputs, op.n_outputs, variant_.type.outputs(), wanted, label_, "outputs"));
  Tensors types = prepared.instance->blank_inputs();
  for (size_t i = 0; i < types.size(); ++i) {
    const Inputs::Input& input = inputs[prepared.inputs[i].slot];
    types[i].dtype = DtypeFromOnnx(input.type);
    types[i].ndim = static_cast<int32_t>(input.ndim);
    std::copy(input.dims, input.dims + input.ndim, types[i].dims);
  }
  entry->checks = MakeChecks(inputs);
  prepared.specialization = prepared.instance->Specialize(types);
  prepared.instance->RefuseComplex(prepared.specialization->outputs(), "ONNX Runtime");
  RequireTypes(*prepared.specialization, prepared.outputs);
  prepared.kernel = &prepared.specialization->Kernel();
  // ONNX Runtime does not train here.
  prepared.scalars = prepared.specialization->Scalars(*prepared.kernel, false);
  const Tensors& outputs = prepared.specialization->outputs();
  prepared.n_elements = outputs.empty() ? 0 : static_cast<int64_t>(CountElements(outputs.front()));
  return entry;
}

std::shared_ptr<const Instance> PreparedTable::FindInstance(const std::vector<int32_t>& inputs,
                                                            const std::vector<int32_t>& outputs) const {
  const auto find = [&] {
    return std::find_if(instances_.begin(), instances_.end(),
                        [&](const auto& instance) { return HasCounts(*instance, inputs, outputs); });
  };
  {
    std::lock_guard lock(mutex_);
    const auto found = find();
    if (found != instances_.end()) return *found;
  }
  const std::shared_ptr<const Op>& op = variant_.type.op();
  auto made = std::make_shared<const Instance>(
      op, label_, Attributes::Fill(op->declared(), label_, attributes_.values()), inputs, outputs);
  std::lock_guard lock(mutex_);
  const auto found = find();
  if (found != instances_.end()) return *found;
  instances_.push_back(made);
  return made;
}

std::vector<ShapeCheck> PreparedTable::MakeChecks(const Inputs& inputs) const {
  std::vector<ShapeCheck> checks;
  if (the_ort_version < kOrtVersionWithSize || the_ort_version >= kOrtVersionWithShapeReference) return checks;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Inputs::Input& input = inputs[i];
    const bool has_elements = std::find(input.dims, input.dims + input.ndim, 0) == input.dims + input.ndim;
    if (!input.data || !has_elements || variant_.inputs[i] == PK_INVALID_DTYPE) return {};
    checks.emplace_back(i, input, ItemSize(variant_.inputs[i]));
  }
  return checks;
}

void PreparedTable::RequireTypes(const Specialization& specialization, const std::vector<size_t>& slots) const {
  for (size_t i = 0; i < slots.size(); ++i) {
    const int32_t inferred = specialization.outputs()[i].dtype;
    const int32_t given = variant_.outputs[slots[i]];
    if (inferred == given) continue;
    Fail(kDefinitionError, "op '", label_, "': its definition infers ", DtypeName(inferred), " for its output '",
         specialization.instance().output_names()[i], "', but for these inputs ONNX Runtime expects ",
         DtypeName(given), "; the dtypes of outputs have to follow from those of the inputs alone");
  }
}

}  // namespace pykernels::onnxruntime
