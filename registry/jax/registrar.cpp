// The functions of this registrar that Python calls.
#include <memory>

#include "../host/error.h"
#include "../host/op.h"
#include "call.h"

namespace pykernels::jax {
namespace {

constexpr ffi::TypeInfo kCallInfo = ffi::MakeTypeInfo<Call>();

}  // namespace

// Sets the services. `services` and `load` must stay valid for the process.
PK_EXPORT void pk_jax_init(const pk_services* services, LoadFunction load) { SetServices(services, load); }

// Return what XLA has to know of the type of calls.
PK_EXPORT ffi::TypeId* pk_jax_type_id() { return &Call::id; }
PK_EXPORT const ffi::TypeInfo* pk_jax_type_info() { return &kCallInfo; }

// Makes op `index` of a definition the current op of its type, for programs that are made from now on.
PK_EXPORT void pk_jax_load(const char* type, const pk_definition* definition, int32_t index, int32_t gradient,
                           int64_t kernel_id) {
  OpTable::Get().Add(type, std::make_shared<const Op>(definition, index, gradient, kernel_id));
}

// Unloads an op type; the next program that calls it loads it again.
PK_EXPORT void pk_jax_unload(const char* type) { OpTable::Get().Remove(type); }

}  // namespace pykernels::jax
