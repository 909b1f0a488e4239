// The ops that Python has handed over, and the kernels that were built for them.
#ifndef PYKERNELS_REGISTRY_HOST_OP_H_
#define PYKERNELS_REGISTRY_HOST_OP_H_

#include <pykernels/kernel.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "attributes.h"
#include "mutex.h"

namespace pykernels {

// Adds the op called `name` to the table, if Python knows a folder that defines it. Takes the GIL. Returns 0, or 1
// after it has written why not.
using LoadFunction = int32_t (*)(const char* name, char* error, size_t size);

// What Python does for registrars; set before the first op is added, and valid as long as the process lives.
void SetServices(const pk_services* services, LoadFunction load);
const pk_services& Services();

// An op type of a loaded definition. It never changes, but for the kernels that it remembers.
class Op {
 public:
  // `gradient` is the index of its gradient in the definition, or -1; `number` the one that pk_services.resolve wants,
  // unless the op brings its only `kernel` along.
  Op(const pk_definition* definition, int32_t index, int32_t gradient, int64_t number,
     const pk_kernel* kernel = nullptr);

  const pk_op& declared() const { return definition_->ops[index_]; }
  const char* name() const { return declared().name; }
  bool has_gradient() const { return gradient_ >= 0; }
  bool is_declared_constant() const { return declared().flags & PK_OP_NO_GRADIENT; }

  void Infer(pk_instance* instance) const;
  void PlanGradient(const pk_instance& forward, const pk_plan_sink& sink) const;
  void ListSbp(const pk_instance& instance, pk_sbp_sink sink, void* user) const;

  // The kernel for the dtypes, ranks and attributes of `instance`. Takes the GIL only for a signature that this op has
  // not met before.
  const pk_kernel* Resolve(const pk_instance& instance) const;

 private:
  // A kernel serves any values of the attributes that it takes at run time, and these values of the others.
  struct Known {
    const pk_kernel* kernel;
    std::vector<std::shared_ptr<const AttributeValue>> fixed;
    std::vector<size_t> positions;
  };
  static bool Serves(const Known& known, const pk_instance& instance);
  const pk_kernel* FindKnown(const std::string& signature, const pk_instance& instance) const;
  void Remember(const std::string& signature, const pk_instance& instance, const pk_kernel* kernel) const;

  const pk_definition* definition_;
  int32_t index_;
  int32_t gradient_;
  int64_t number_;
  const pk_kernel* kernel_;
  mutable SharedMutex mutex_;
  mutable std::unordered_map<std::string, std::vector<Known>> kernels_;
};

// The ops by the names that users and gradients call them. Folders are entered by name only and built when one of their
// ops is first wanted. Replacing or removing an op leaves those who use it with what they have.
class OpTable {
 public:
  static OpTable& Get();

  void Add(const std::string& name, std::shared_ptr<const Op> op);
  void Remove(const std::string& name);

  // Loads the op if it is not here yet; throws why there is none.
  std::shared_ptr<const Op> Find(const std::string& name);

 private:
  std::shared_ptr<const Op> Lookup(const std::string& name) const;

  mutable SharedMutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Op>> ops_;
};

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_OP_H_
