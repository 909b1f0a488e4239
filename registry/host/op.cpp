#include "op.h"

#include <algorithm>
#include <atomic>

#include "error.h"
#include "tensors.h"

namespace pykernels {
namespace {

std::atomic<const pk_services*> the_services{nullptr};
std::atomic<LoadFunction> the_load{nullptr};

// Limits the kernels that an op caches for one signature, so that an attribute that always changes cannot fill memory.
constexpr size_t kMostKernels = 64;

// In elements. Smaller outputs are not checked for memory each time.
constexpr size_t kLarge = size_t{1} << 28;

// Returns a key of the dtypes, ranks and arguments of all tensors. The address of an argument's name, which belongs to
// the definition, identifies the argument.
std::string DescribeSignature(const pk_instance& instance) {
  std::string key;
  const auto append = [&key](const pk_tensor* tensors, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      key.append(reinterpret_cast<const char*>(&tensors[i].argument), sizeof tensors[i].argument);
      key.push_back(static_cast<char>(tensors[i].dtype));
      key.push_back(static_cast<char>(tensors[i].ndim));
    }
    key.push_back('|');
  };
  append(instance.inputs, instance.n_inputs);
  append(instance.outputs, instance.n_outputs);
  return key;
}

// Throws the error of a definition's function unless `status` is 0.
void Require(int32_t status, const char* error) {
  constexpr int32_t kFault = 2;  // the definition itself is wrong, not the call
  if (status != 0) throw Error(status == kFault ? kDefinitionError : kCallError, error);
}

bool IsTakenAtRunTime(const pk_kernel& kernel, int32_t attribute) {
  return std::find(kernel.scalars, kernel.scalars + kernel.n_scalars, attribute) !=
         kernel.scalars + kernel.n_scalars;
}

}  // namespace

void SetServices(const pk_services* services, LoadFunction load) {
  the_services = services;
  the_load = load;
}

const pk_services& Services() { return *the_services; }

Op::Op(const pk_definition* definition, int32_t index, int32_t gradient, int64_t kernel_id, const pk_kernel* kernel)
    : definition_(definition), index_(index), gradient_(gradient), kernel_id_(kernel_id), kernel_(kernel) {}

void Op::Infer(pk_instance* instance) const {
  char error[kErrorSize] = "";
  Require(definition_->infer(index_, instance, error, sizeof error), error);
}

void Op::PlanGradient(const pk_instance& forward, const pk_plan_sink& sink) const {
  char error[kErrorSize] = "";
  if (definition_->gradient(gradient_, &forward, &sink, error, sizeof error) != 0) throw Error(kDefinitionError, error);
}

const pk_op* Op::FindTangent() const {
  const std::string own = name(), suffix = "_forward";
  const size_t end = own.size() - std::min(own.size(), suffix.size());
  const std::string wanted = (own.compare(end, suffix.size(), suffix) == 0 ? own.substr(0, end) : own) + "_tangent";
  const pk_op* last = definition_->ops + definition_->n_ops;
  const pk_op* found = std::find_if(definition_->ops, last, [&](const pk_op& op) { return wanted == op.name; });
  return found == last ? nullptr : found;
}

void Op::ListSbp(const pk_instance& instance, pk_sbp_sink sink, void* user) const {
  char error[kErrorSize] = "";
  Require(definition_->sbp(index_, &instance, sink, user, error, sizeof error), error);
}

const pk_kernel* Op::Resolve(const pk_instance& instance) const {
  if (kernel_) return kernel_;
  const std::string signature = DescribeSignature(instance);
  // For large outputs, Python checks each time whether memory suffices.
  const bool is_large = std::any_of(instance.outputs, instance.outputs + instance.n_outputs,
                                    [](const pk_tensor& output) { return CountElements(output) >= kLarge; });
  const pk_kernel* kernel = is_large ? nullptr : FindKernel(signature, instance);
  if (kernel) return kernel;
  // Do not hold the lock: this waits for the GIL and may compile.
  char error[kErrorSize] = "";
  kernel = Services().resolve(kernel_id_, &instance, error, sizeof error);
  if (!kernel) throw Error(kKernelError, error);
  if (!is_large) Remember(signature, instance, kernel);
  return kernel;
}

bool Op::Serves(const Specialized& specialized, const pk_instance& instance) {
  return std::all_of(specialized.constants.begin(), specialized.constants.end(), [&](const auto& constant) {
    return SameValue(constant.second->get(), instance.attrs[constant.first]);
  });
}

const pk_kernel* Op::FindKernel(const std::string& signature, const pk_instance& instance) const {
  std::shared_lock lock(mutex_);
  const auto found = kernels_.find(signature);
  if (found == kernels_.end()) return nullptr;
  for (const Specialized& specialized : found->second) {
    if (Serves(specialized, instance)) return specialized.kernel;
  }
  return nullptr;
}

void Op::Remember(const std::string& signature, const pk_instance& instance, const pk_kernel* kernel) const {
  Specialized specialized{kernel, {}};
  for (int32_t i = 0; i < instance.n_attrs; ++i) {
    if (IsTakenAtRunTime(*kernel, i)) continue;
    specialized.constants.emplace_back(i, std::make_shared<AttributeValue>(instance.attrs[i]));
  }
  std::lock_guard lock(mutex_);
  std::vector<Specialized>& kernels = kernels_[signature];
  if (kernels.size() == kMostKernels) kernels.erase(kernels.begin());
  kernels.push_back(std::move(specialized));
}

OpTable& OpTable::Get() {
  static auto* table = new OpTable;  // never destroyed: threads of the framework may outlive static objects
  return *table;
}

void OpTable::Add(const std::string& name, std::shared_ptr<const Op> op) {
  std::lock_guard lock(mutex_);
  ops_[name] = std::move(op);
}

void OpTable::Remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  ops_.erase(name);
}

std::shared_ptr<const Op> OpTable::Find(const std::string& name) {
  std::shared_ptr<const Op> op = Lookup(name);
  if (op) return op;
  char error[kErrorSize] = "";
  if (the_load.load()(name.c_str(), error, sizeof error) != 0) throw Error(kLoadError, error);
  op = Lookup(name);
  if (!op) Fail(kLoadError, "there is no op '", name, "'");
  return op;
}

std::shared_ptr<const Op> OpTable::Lookup(const std::string& name) const {
  std::shared_lock lock(mutex_);
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : found->second;
}

}  // namespace pykernels
