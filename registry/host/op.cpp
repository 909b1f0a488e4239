#include "op.h"

#include <algorithm>
#include <atomic>

#include "error.h"
#include "tensors.h"

namespace pykernels {
namespace {

std::atomic<const pk_services*> the_services{nullptr};
std::atomic<LoadFunction> the_load{nullptr};

// How many kernels an op remembers for one signature, so that an attribute whose value always changes cannot fill the
// memory.
constexpr size_t kMostKnown = 64;

// In elements. For fewer there is memory.
constexpr size_t kLarge = size_t{1} << 28;

// Dtypes, ranks and arguments of all tensors. An argument is told by the address of its name, which belongs to the
// definition.
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

// Throws what a function of a definition tells, unless the `status` that it returns is 0.
void Require(int32_t status, const char* error) {
  constexpr int32_t kFault = 2;  // the definition is wrong, rather than how its op is called
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

Op::Op(const pk_definition* definition, int32_t index, int32_t gradient, int64_t number, const pk_kernel* kernel)
    : definition_(definition), index_(index), gradient_(gradient), number_(number), kernel_(kernel) {}

void Op::Infer(pk_instance* instance) const {
  char error[kErrorSize] = "";
  Require(definition_->infer(index_, instance, error, sizeof error), error);
}

void Op::PlanGradient(const pk_instance& forward, const pk_plan_sink& sink) const {
  char error[kErrorSize] = "";
  if (definition_->gradient(gradient_, &forward, &sink, error, sizeof error) != 0) throw Error(kDefinitionError, error);
}

void Op::ListSbp(const pk_instance& instance, pk_sbp_sink sink, void* user) const {
  char error[kErrorSize] = "";
  Require(definition_->sbp(index_, &instance, sink, user, error, sizeof error), error);
}

const pk_kernel* Op::Resolve(const pk_instance& instance) const {
  if (kernel_) return kernel_;
  const std::string signature = DescribeSignature(instance);
  // For large outputs Python finds out each time whether there is memory.
  const bool is_large = std::any_of(instance.outputs, instance.outputs + instance.n_outputs,
                                    [](const pk_tensor& output) { return CountElements(output) >= kLarge; });
  const pk_kernel* kernel = is_large ? nullptr : FindKnown(signature, instance);
  if (kernel) return kernel;
  // Without the lock: this waits for the GIL, and may compile.
  char error[kErrorSize] = "";
  kernel = Services().resolve(number_, &instance, error, sizeof error);
  if (!kernel) throw Error(kKernelError, error);
  if (!is_large) Remember(signature, instance, kernel);
  return kernel;
}

bool Op::Serves(const Known& known, const pk_instance& instance) {
  for (size_t i = 0; i < known.positions.size(); ++i) {
    if (!SameValue(known.fixed[i]->get(), instance.attrs[known.positions[i]])) return false;
  }
  return true;
}

const pk_kernel* Op::FindKnown(const std::string& signature, const pk_instance& instance) const {
  std::shared_lock lock(mutex_);
  const auto found = kernels_.find(signature);
  if (found == kernels_.end()) return nullptr;
  for (const Known& known : found->second) {
    if (Serves(known, instance)) return known.kernel;
  }
  return nullptr;
}

void Op::Remember(const std::string& signature, const pk_instance& instance, const pk_kernel* kernel) const {
  Known known{kernel, {}, {}};
  for (int32_t i = 0; i < instance.n_attrs; ++i) {
    if (IsTakenAtRunTime(*kernel, i)) continue;
    known.positions.push_back(i);
    known.fixed.push_back(std::make_shared<AttributeValue>(instance.attrs[i]));
  }
  std::lock_guard lock(mutex_);
  std::vector<Known>& kernels = kernels_[signature];
  if (kernels.size() == kMostKnown) kernels.erase(kernels.begin());
  kernels.push_back(std::move(known));
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
