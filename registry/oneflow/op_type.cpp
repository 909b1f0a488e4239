#include "op_type.h"

#include <cstring>
#include <map>

#include "../host/mutex.h"
#include "../host/op.h"

namespace pykernels::oneflow {
namespace {

// Limits the instances that a type caches, so that an attribute that always changes cannot fill memory.
constexpr size_t kMostInstances = 64;

std::vector<std::string> Names(const pk_argument* arguments, int32_t n) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < n; ++i) names.emplace_back(arguments[i].name);
  return names;
}

std::vector<int32_t> CountEach(const std::vector<std::string>& arguments, const OpType::Listed& listed) {
  std::vector<int32_t> counts(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const auto& [argument, index] : listed) counts[i] += argument == arguments[i];
  }
  return counts;
}

// The types of all registered ops. Entries are never removed: OneFlow forgets no op.
class Entered {
 public:
  static Entered& Get() {
    static auto* entered = new Entered;  // never destroyed: OneFlow's threads may outlive static objects
    return *entered;
  }

  void Add(const OpType* type) {
    std::lock_guard lock(mutex_);
    types_[&type->op()] = type;
  }

  const OpType* Find(const Op* op) {
    std::lock_guard lock(mutex_);
    const auto found = types_.find(op);
    return found == types_.end() ? nullptr : found->second;
  }

 private:
  Mutex mutex_;
  std::map<const Op*, const OpType*> types_;
};

// Returns a name that OneFlow has no op for: `name`, or `name` with a number.
std::string FreeName(const std::string& name) {
  auto& registry = user_op::UserOpRegistryMgr::Get();
  std::string free = name;
  for (int number = 2; registry.GetOpRegistryResult(free); ++number) free = Join(name, ".", number);
  return free;
}

}  // namespace

// Register parts of an op with OneFlow; each is in its own file.
void EnterDefinition(const OpType& type);
void EnterKernel(const OpType& type);
void EnterGraphGradient(const OpType& type);
void EnterEagerGradient(const OpType& type);

OpType::OpType(std::shared_ptr<const Op> op, std::string name)
    : op_(std::move(op)),
      name_(std::move(name)),
      inputs_(Names(declared().inputs, declared().n_inputs)),
      outputs_(Names(declared().outputs, declared().n_outputs)) {}

const OpType& OpType::Find(const std::string& name) {
  const std::shared_ptr<const Op> op = OpTable::Get().Find(name);
  const OpType* type = Entered::Get().Find(op.get());
  if (!type) Fail(kLoadError, "op '", name, "' has not been entered into OneFlow");
  return *type;
}

Counts OpType::Count(const Listed& inputs, const Listed& outputs) const {
  return {CountEach(inputs_, inputs), CountEach(outputs_, outputs)};
}

template <typename Has>
std::shared_ptr<const Instance> OpType::FindKnown(const Counts& counts, const Has& has) const {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(instances_.rbegin(), instances_.rend(), [&](const Known& known) {
    const auto& attributes = known.instance->attributes();
    return known.counts == counts && std::all_of(attributes.begin(), attributes.end(), has);
  });
  return found == instances_.rend() ? nullptr : found->instance;
}

std::shared_ptr<const Instance> OpType::FindInstance(const Counts& counts, const AttributeSource& attributes) const {
  const auto known = FindKnown(counts, [&](const pk_attr& attribute) { return attributes.Has(attribute); });
  if (known) return known;
  std::vector<std::unique_ptr<const AttributeValue>> values;
  std::vector<pk_attr> given;
  for (int32_t i = 0; i < declared().n_attributes; ++i) {
    const pk_attr& initial = declared().attributes[i].initial;
    values.push_back(attributes.Read(initial.name, initial.type));
    given.push_back(values.back()->get());
  }
  return FindInstance(counts, given);
}

std::shared_ptr<const Instance> OpType::FindInstance(const Counts& counts, const std::vector<pk_attr>& given) const {
  Attributes attributes = Attributes::Fill(declared(), op_->name(), given);
  const auto known = FindKnown(counts, [&](const pk_attr& attribute) {
    return std::any_of(attributes.values().begin(), attributes.values().end(), [&](const pk_attr& value) {
      return std::strcmp(value.name, attribute.name) == 0 && SameValue(value, attribute);
    });
  });
  if (known) return known;
  const auto distribute = [&](const pk_argument* arguments, int32_t n, const std::vector<int32_t>& each,
                              const char* what) {
    return DistributeTensors(arguments, n, {each, -1}, op_->name(), what);
  };
  // Do not hold the lock: a definition written in Python waits for the GIL here.
  const auto instance = std::make_shared<const Instance>(
      op_, op_->name(), std::move(attributes),
      distribute(declared().inputs, declared().n_inputs, counts.inputs, "inputs"),
      distribute(declared().outputs, declared().n_outputs, counts.outputs, "outputs"));
  std::lock_guard lock(mutex_);
  if (instances_.size() == kMostInstances) instances_.erase(instances_.begin());
  instances_.push_back({counts, instance});
  return instance;
}

const OpType& EnterOp(const std::string& name, std::shared_ptr<const Op> op) {
  const auto* type = new OpType(op, FreeName(name));  // never deleted: OneFlow keeps functions that use it
  EnterDefinition(*type);
  EnterEagerGradient(*type);
  EnterGraphGradient(*type);
  EnterKernel(*type);
  Entered::Get().Add(type);
  OpTable::Get().Add(name, std::move(op));
  return *type;
}

}  // namespace pykernels::oneflow
