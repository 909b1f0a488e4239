// The functions that Python calls to register ops in MXNet. Each returns 0, or writes the reason to `error` and
// returns 1.
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

// Makes `creator` create the operators called `name`. Other code may have registered the name in the meantime.
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

// Sets the services. `services` and `load` must stay valid for the life of the process; `api` is copied.
PK_EXPORT int32_t pk_mxnet_init(const pk_services* services, LoadFunction load, const MXApi* api, char* error,
                                size_t size) {
  return Report(error, size, [&] {
    pykernels::SetServices(services, load);
    pykernels::ForkGate::StayOpen();  // MXNet's engine ends its threads, which may be about to call us
    pykernels::mxnet::SetApi(*api);
  });
}

// Registers `name` with MXNet. Its op is looked up, and loaded if necessary, when MXNet first uses it.
PK_EXPORT int32_t pk_mxnet_register(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, pykernels::mxnet::CreateProperty); });
}

// Sets the functions that Python implements. `functions` is copied; what it points to must stay valid for the process.
PK_EXPORT int32_t pk_mxnet_init_classes(const PythonFunctions* functions, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::SetPythonFunctions(*functions); });
}

// Registers `name` with MXNet for a class that Python provides. `is_others`: other code may have registered the name.
PK_EXPORT int32_t pk_mxnet_register_class(const char* name, int32_t is_others, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, pykernels::mxnet::CreatePythonProperty, is_others); });
}

PK_EXPORT int64_t pk_mxnet_next_retired() { return pykernels::mxnet::NextRetired(); }

// Sets or replaces the op of `name`: the op at position `index` of `definition`, with the gradient at position
// `gradient` (negative for none). `kernel_id` is passed to pk_services.resolve.
PK_EXPORT int32_t pk_mxnet_add(const char* name, const pk_definition* definition, int32_t index, int32_t gradient,
                               int64_t kernel_id, char* error, size_t size) {
  return Report(error, size, [&] {
    if (definition->abi != PK_DEFINITION_ABI) {
      Fail(kLoadError, "the definition of '", name, "' is built for version ", definition->abi,
           " of the definition ABI, not ", PK_DEFINITION_ABI);
    }
    OpTable::Get().Add(name, std::make_shared<const Op>(definition, index, gradient, kernel_id));
  });
}

// Removes the op of `name`; it is loaded again on next use.
PK_EXPORT int32_t pk_mxnet_remove(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { OpTable::Get().Remove(name); });
}

// Runs ops inside MXNet's engine from now on, if the internals of this MXNet version are known.
PK_EXPORT int32_t pk_mxnet_enter_engine(const pykernels::mxnet::EngineSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::EnterEngine(*symbols); });
}

// Runs ops on the threads of MXNet's custom operators again.
PK_EXPORT int32_t pk_mxnet_leave_engine(char* error, size_t size) {
  return Report(error, size, [] { pykernels::mxnet::LeaveEngine(); });
}

// Registers an op under `name` that doubles float32 numbers, as does its gradient.
PK_EXPORT int32_t pk_mxnet_add_checked_op(const char* name, char* error, size_t size) {
  return Report(error, size, [&] {
    RegisterCreator(name, pykernels::mxnet::CreateProperty);
    pykernels::mxnet::AddCheckedOp(name);
  });
}

// Runs kernels that can be divided on MXNet's threads for parallel loops.
PK_EXPORT int32_t pk_mxnet_use_threads(const pykernels::mxnet::ThreadSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] { pykernels::mxnet::UseThreads(*symbols); });
}
