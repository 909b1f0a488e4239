// What Python calls to enter ops into MXNet. Every function returns 0, or 1 after it has written why into `error`.
#include <cstring>
#include <map>
#include <mutex>

#include "../host/error.h"
#include "../host/mutex.h"
#include "../host/op.h"
#include "engine.h"
#include "property.h"
#include "python_operator.h"
#include "self_check.h"
#include "threads.h"

#define PK_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using pykernels::Fail;
using pykernels::kLoadError;
using pykernels::LoadFunction;
using pykernels::Op;
using pykernels::OpTable;

template <typename Body>
int32_t Report(char* error, size_t size, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& problem) {
    std::strncpy(error, problem.what(), size - 1);
    error[size - 1] = '\0';
    return 1;
  }
}

// Has `creator` make the operators called `name` from now on. Others may have registered the name since `creator` has.
void RegisterCreator(const std::string& name, MXPropCreator creator, bool is_others = false) {
  // MXNet cannot forget a name, and warns if one is registered again.
  static pykernels::Mutex mutex;
  static std::map<std::string, MXPropCreator> creators;
  std::lock_guard lock(mutex);
  MXPropCreator& known = creators[name];
  if (known == creator && !is_others) return;
  if (pykernels::mxnet::Api().CustomOpRegister(name.c_str(), creator) != 0) {
    Fail(kLoadError, "MXNet refuses the name '", name, "': ", pykernels::mxnet::Api().GetLastError());
  }
  known = creator;
}

}  // namespace

// `services` and `load` stay valid as long as the process lives; `api` is copied.
PK_EXPORT int32_t pk_mxnet_init(const pk_services* services, LoadFunction load, const MXApi* api, char* error,
                                size_t size) {
  return Report(error, size, [&] {
    pykernels::SetServices(services, load);
    pykernels::ForkGate::StayOpen();  // MXNet's engine ends its threads, which may be about to call us
    pykernels::mxnet::SetApi(*api);
  });
}

// Makes `name` known to MXNet. Its op is looked up, and loaded if need be, when MXNet first asks for it.
PK_EXPORT int32_t pk_mxnet_register(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, pykernels::mxnet::CreateProperty); });
}

// `functions` is copied, and what it points to stays valid as long as the process lives.
PK_EXPORT int32_t pk_mxnet_init_classes(const PythonFunctions* functions, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::SetPythonFunctions(*functions); });
}

// Makes `name` known to MXNet as that of a Python class, which Python is asked for. `is_others`: somebody else may have
// registered it.
PK_EXPORT int32_t pk_mxnet_register_class(const char* name, int32_t is_others, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, pykernels::mxnet::CreatePythonProperty, is_others); });
}

PK_EXPORT int64_t pk_mxnet_next_retired() { return pykernels::mxnet::NextRetired(); }

// Gives `name` its op: number `index` of `definition`. Its gradient is number `gradient` of the definition, or there
// is none if that is negative; `number` is its number for pk_services.resolve. An op that had the name is replaced.
PK_EXPORT int32_t pk_mxnet_add(const char* name, const pk_definition* definition, int32_t index, int32_t gradient,
                               int64_t number, char* error, size_t size) {
  return Report(error, size, [&] {
    if (definition->abi != PK_DEFINITION_ABI) {
      Fail(kLoadError, "the definition of '", name, "' is built for version ", definition->abi,
           " of the definition ABI, not ", PK_DEFINITION_ABI);
    }
    OpTable::Get().Add(name, std::make_shared<const Op>(definition, index, gradient, number));
  });
}

// Takes the op of `name` away; it is loaded again when it is next asked for.
PK_EXPORT int32_t pk_mxnet_remove(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { OpTable::Get().Remove(name); });
}

// Runs ops inside MXNet's engine from now on, if this is the MXNet whose inside is known.
PK_EXPORT int32_t pk_mxnet_enter_engine(const pykernels::mxnet::EngineSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::EnterEngine(*symbols); });
}

// Runs them on the threads of MXNet's custom operators again.
PK_EXPORT int32_t pk_mxnet_leave_engine(char* error, size_t size) {
  return Report(error, size, [] { pykernels::mxnet::LeaveEngine(); });
}

// Enters an op under `name` that doubles float32 numbers, and so does its gradient.
PK_EXPORT int32_t pk_mxnet_add_checked_op(const char* name, char* error, size_t size) {
  return Report(error, size, [&] {
    RegisterCreator(name, pykernels::mxnet::CreateProperty);
    pykernels::mxnet::AddCheckedOp(name);
  });
}

// Has kernels that can be cut run on MXNet's threads for loops.
PK_EXPORT int32_t pk_mxnet_use_threads(const pykernels::mxnet::ThreadSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::UseThreads(*symbols); });
}
