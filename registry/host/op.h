// The ops that Python registers, and the kernels built for them.
#pragma once

#include <pykernels/kernel.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attributes.h"
#include "mutex.h"

namespace pykernels {

// Adds the op `name` to the table if Python knows a folder that defines it. Takes the GIL. Returns 0, or writes an
// error and returns 1.
using LoadFunction = int32_t (*)(const char* name, char* error, size_t size);

// Sets the functions that Python provides. They are set before the first op is added and stay valid for the process.
void SetServices(const pk_services* services, LoadFunction load);
const pk_services& Services();

// An op type of a loaded definition. It never changes, except for the kernels that it caches.
class Op {
 public:
  // `gradient` is the index of its gradient in the definition, or -1. `kernel_id` is the argument of
  // pk_services.resolve, unless the op has only one `kernel`, given here.
  Op(const pk_definition* definition, int32_t index, int32_t gradient, int64_t kernel_id,
     const pk_kernel* kernel = nullptr);

  const pk_op& declared() const { return definition_->ops[index_]; }
  const char* name() const { return declared().name; }
  bool has_gradient() const { return gradient_ >= 0; }
  // Returns the op of the same folder that computes the tangents of this op's outputs, or null: mish_tangent for
  // mish_forward. Its arguments are inputs and outputs of this op, and `tx`, the tangent of `x`.
  const pk_op* FindTangent() const;
  bool is_declared_constant() const { return declared().flags & PK_OP_NO_GRADIENT; }

  void Infer(pk_instance* instance) const;
  void PlanGradient(const pk_instance& forward, const pk_plan_sink& sink) const;
  void ListSbp(const pk_instance& instance, pk_sbp_sink sink, void* user) const;

  // Returns the kernel for the dtypes, ranks and attributes of `instance`. Takes the GIL only for a signature that this
  // op sees for the first time.
  const pk_kernel* Resolve(const pk_instance& instance) const;

 private:
  // A kernel with attributes compiled into it, by position. It serves only these values of them, and any values of the
  // other attributes.
  struct Specialized {
    const pk_kernel* kernel;
    std::vector<std::pair<size_t, std::shared_ptr<const AttributeValue>>> constants;
  };
  static bool Serves(const Specialized& specialized, const pk_instance& instance);
  const pk_kernel* FindKernel(const std::string& signature, const pk_instance& instance) const;
  void Remember(const std::string& signature, const pk_instance& instance, const pk_kernel* kernel) const;

  const pk_definition* definition_;
  int32_t index_;
  int32_t gradient_;
  int64_t kernel_id_;
  const pk_kernel* kernel_;
  mutable SharedMutex mutex_;
  mutable std::unordered_map<std::string, std::vector<Specialized>> kernels_;
};

// The ops by the names that users and gradients call them. Folders are registered by name and built when one of their
// ops is first used. After an op is replaced or removed, existing users keep the old one.
class OpTable {
 public:
  static OpTable& Get();

  void Add(const std::string& name, std::shared_ptr<const Op> op);
  void Remove(const std::string& name);

  // Returns the op and loads it if necessary; throws if there is none.
  std::shared_ptr<const Op> Find(const std::string& name);

 private:
  std::shared_ptr<const Op> Lookup(const std::string& name) const;

  mutable SharedMutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Op>> ops_;
};

}  // namespace pykernels
