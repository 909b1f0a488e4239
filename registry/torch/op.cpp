#include "op.h"

#include <algorithm>
#include <unordered_map>

#include "../host/mutex.h"
#include "../host/specialization.h"
#include "gradient.h"
#include "values.h"

namespace pykernels::torch_ops {
namespace {

// Limits the uses that an op caches, so that an attribute that always changes cannot fill memory.
constexpr size_t kMostUses = 64;

std::vector<int32_t> CountInputs(const Layout& layout, const IValue* arguments) {
  std::vector<int32_t> counts;
  layout.CountInputs(arguments, &counts);
  const pk_op& op = layout.op();
  return DistributeTensors(op.inputs, op.n_inputs, {counts, -1}, op.name, "inputs");
}

std::vector<int32_t> CountOutputs(const Layout& layout, const IValue* arguments) {
  std::vector<int32_t> counts;
  layout.CountOutputs(arguments, &counts);
  const pk_op& op = layout.op();
  return DistributeTensors(op.outputs, op.n_outputs, {counts, -1}, op.name, "outputs");
}

Attributes ReadAttributes(const Layout& layout, const IValue* arguments) {
  const pk_op& op = layout.op();
  Attributes::Strings texts;
  const IValue* value = arguments + op.n_inputs;
  for (int32_t position : layout.attributes()) {
    const pk_attr& initial = op.attributes[position].initial;
    // None stands for a default that schemas cannot express.
    if (!value->isNone()) texts.emplace_back(initial.name, ToText(*value, initial.type));
    ++value;
  }
  return Attributes::Parse(op, op.name, texts);
}

// Returns whether these are the types of the tensors.
bool IsFor(const pykernels::Tensors& types, const Tensors& tensors) {
  for (size_t i = 0; i < types.size(); ++i) {
    const at::IntArrayRef sizes = tensors[i].sizes();
    if (types[i].dtype != FromScalarType(tensors[i].scalar_type()) ||
        types[i].ndim != static_cast<int64_t>(sizes.size()) ||
        !std::equal(sizes.begin(), sizes.end(), types[i].dims)) {
      return false;
    }
  }
  return true;
}

bool HasCounts(const pk_argument* arguments, int32_t n) {
  return std::any_of(arguments, arguments + n, [](const pk_argument& argument) {
    return argument.optional || Layout::IsListed(argument);
  });
}

}  // namespace

Use::Use(const std::shared_ptr<const Op>& op, const Layout& layout, const IValue* arguments)
    : input_counts_(CountInputs(layout, arguments)),
      output_counts_(CountOutputs(layout, arguments)),
      instance_(op, op->name(), ReadAttributes(layout, arguments), input_counts_, output_counts_) {
  const IValue* first = arguments + layout.op().n_inputs;
  // Copy the values: the caller shares its lists.
  for (size_t i = 0; i < layout.attributes().size(); ++i) attributes_.push_back(first[i].deepcopy());
}

bool Use::Is(const Layout& layout, const IValue* arguments) const {
  const pk_op& op = layout.op();
  const IValue* attributes = arguments + op.n_inputs;
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (!SameValue(attributes_[i], attributes[i])) return false;
  }
  std::vector<int32_t> counts;
  if (HasCounts(op.inputs, op.n_inputs)) {
    layout.CountInputs(arguments, &counts);
    if (counts != input_counts_) return false;
  }
  if (HasCounts(op.outputs, op.n_outputs)) {
    layout.CountOutputs(arguments, &counts);
    if (counts != output_counts_) return false;
  }
  return true;
}

std::shared_ptr<const Specialization> Use::Specialize(const Tensors& inputs) const {
  {
    std::lock_guard lock(mutex_);
    if (latest_ && IsFor(latest_->inputs(), inputs)) return latest_;
  }
  std::shared_ptr<const Specialization> found = instance_.Specialize(TypesOf(inputs));
  std::lock_guard lock(mutex_);
  latest_ = found;
  return found;
}

pykernels::Tensors Use::TypesOf(const Tensors& inputs) const {
  pykernels::Tensors types = instance_.blank_inputs();
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& tensor = inputs[i];
    if (tensor.dim() > PK_MAX_NDIM) {
      Fail(kCallError, "op '", instance_.label(), "': '", instance_.input_names()[i], "' has ", tensor.dim(),
           " axes; the most that an op can take are ", PK_MAX_NDIM);
    }
    types[i].dtype = FromScalarType(tensor.scalar_type());
    if (types[i].dtype == PK_INVALID_DTYPE) {
      Fail(kCallError, "op '", instance_.label(), "': '", instance_.input_names()[i], "' has dtype ",
           tensor.scalar_type(), ", which no op can take");
    }
    types[i].ndim = static_cast<int32_t>(tensor.dim());
    if (!tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      std::copy(tensor.sizes().begin(), tensor.sizes().end(), types[i].dims);
      continue;
    }
    int32_t axis = 0;
    for (const c10::SymInt& size : tensor.sym_sizes()) types[i].dims[axis++] = size.guard_int(__FILE__, __LINE__);
  }
  return types;
}

std::shared_ptr<const Gradient> Use::FindGradient(const Tensors& inputs, const Tensors& outputs) const {
  {
    std::lock_guard lock(mutex_);
    if (gradient_) return gradient_;
  }
  // Do not hold the lock: a definition written in Python waits for the GIL here.
  std::shared_ptr<const Gradient> made;
  try {
    made = std::make_shared<const Gradient>(instance_, instance_.blank_inputs(), instance_.blank_outputs());
  } catch (const Error&) {
    // The gradient depends on the shapes, or it is wrong; making it for the real shapes reports the error.
    const pykernels::Tensors types = TypesOf(inputs);
    pykernels::Tensors results = instance_.blank_outputs();
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].dtype = FromScalarType(outputs[i].scalar_type());
      results[i].ndim = 0;
      for (const c10::SymInt& size : outputs[i].sym_sizes()) {
        results[i].dims[results[i].ndim++] = size.guard_int(__FILE__, __LINE__);
      }
    }
    return std::make_shared<const Gradient>(instance_, types, results);
  }
  std::lock_guard lock(mutex_);
  if (!gradient_) gradient_ = std::move(made);
  return gradient_;
}

Loaded::Loaded(std::shared_ptr<const Op> op, bool takes_is_train)
    : op_(std::move(op)), layout_(op_->declared(), takes_is_train) {}

std::shared_ptr<const Use> Loaded::FindUse(const IValue* arguments) const {
  {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(uses_.rbegin(), uses_.rend(),
                                    [&](const auto& use) { return use->Is(layout_, arguments); });
    if (found != uses_.rend()) return *found;
  }
  auto made = std::make_shared<const Use>(op_, layout_, arguments);
  std::lock_guard lock(mutex_);
  if (uses_.size() == kMostUses) uses_.erase(uses_.begin());
  uses_.push_back(made);
  return made;
}

TorchOp& TorchOp::Get(const std::string& type) {
  // Never destroyed: PyTorch's threads may outlive static objects.
  static auto* mutex = new Mutex;
  static auto* ops = new std::unordered_map<std::string, std::unique_ptr<TorchOp>>;
  std::lock_guard lock(*mutex);
  std::unique_ptr<TorchOp>& op = (*ops)[type];
  if (!op) op = std::make_unique<TorchOp>(type);
  return *op;
}

const TorchOp& TorchOp::Find(const std::string& type) {
  TorchOp& op = Get(type);
  op.loaded();
  return op;
}

const Loaded& TorchOp::loaded() const {
  const Loaded* loaded = loaded_.load(std::memory_order_acquire);
  if (loaded) return *loaded;
  OpTable::Get().Find(type_);  // Python loads the folder, or this throws
  loaded = loaded_.load(std::memory_order_acquire);
  if (!loaded) Fail(kLoadError, "op '", type_, "' has not been entered into PyTorch");
  return *loaded;
}

void TorchOp::SetOperator(const std::string& qualified_name) {
  qualified_name_ = qualified_name;
  operator_ = c10::Dispatcher::singleton().findSchemaOrThrow(qualified_name.c_str(), "");
}

}  // namespace pykernels::torch_ops
