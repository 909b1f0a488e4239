#include "python_operator.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../host/error.h"
#include "../host/mutex.h"
#include "broken.h"
#include "callbacks.h"
#include "in_flight.h"
#include "results.h"

namespace pykernels::mxnet {
namespace {

PythonFunctions python{};

// The objects that Python must release. MXNet deletes objects on threads and at times that must not wait for the GIL.
struct Retired {
  Mutex mutex;
  std::vector<int64_t> ids;
};

Retired& TheRetired() {
  static auto* retired = new Retired;  // never destroyed: MXNet's threads may outlive static objects
  return *retired;
}

void Retire(int64_t id) {
  std::lock_guard lock(TheRetired().mutex);
  TheRetired().ids.push_back(id);
}

// Calls a Python function with a buffer for its error message, and returns the message.
template <typename Function, typename... Arguments>
std::string Try(Function* function, Arguments... arguments) {
  char error[kErrorSize] = "";
  if (function(arguments..., error, sizeof error) == 0) return "";
  return error[0] ? error : "a Python operator failed without saying why";
}

template <typename Function, typename... Arguments>
void Ask(Function* function, Arguments... arguments) {
  const std::string error = Try(function, arguments...);
  if (!error.empty()) throw Error(kKernelError, error);
}

std::vector<std::string> ReadNames(const char* const* names) {
  std::vector<std::string> read;
  for (; *names; ++names) read.emplace_back(*names);
  return read;
}

// -- A CustomOp -------------------------------------------------------------------------------------------------------

struct ClassOperator {
  int64_t id;
  std::string unassigned;
  std::vector<std::string> outputs;
  void* contexts[3];
  Expected expected;
};

int DeleteClassOperator(void* state) {
  Retire(static_cast<ClassOperator*>(state)->id);
  delete static_cast<ClassOperator*>(state);
  return 1;
}

// The arrays of a pass; the destructor frees those that Python does not take.
struct OwnedHandles {
  int n;
  void** handles;
  int32_t n_taken = 0;

  ~OwnedHandles() {
    for (int i = n_taken; i < n; ++i) Api().NDArrayFree(handles[i]);
  }
};

// Runs a pass in Python and returns the error.
std::string RunPython(const ClassOperator& op, Pass pass, const std::vector<const void*>& written, OwnedHandles* owned,
                      const int* tags, const int* requests, int is_train) {
  const ClassScope scope(written);
  return Try(python.run, op.id, static_cast<int32_t>(pass == Pass::kBackward), owned->n, owned->handles, tags, requests,
             is_train, &owned->n_taken);
}

int Run(Pass pass, int n, void** handles, const int* tags, const int* requests, int is_train, void* state) {
  return Guard([&] {
    auto& op = *static_cast<ClassOperator*>(state);
    op.expected.Begin();
    OwnedHandles owned{n, handles};
    auto results = std::make_unique<Results>(pass, n, handles, tags, requests);
    results->Prepare();
    const std::string failure = RunPython(op, pass, results->Requested(), &owned, tags, requests, is_train);
    Results::Conclude(std::move(results), failure, op.unassigned, op.outputs);
  });
}

int RunForward(int n, void** handles, int* tags, const int* requests, int is_train, void* state) {
  return Run(Pass::kForward, n, handles, tags, requests, is_train, state);
}

int RunBackward(int n, void** handles, int* tags, const int* requests, int is_train, void* state) {
  return Run(Pass::kBackward, n, handles, tags, requests, is_train, state);
}

MXCallback class_operator_callbacks[] = {Generic(DeleteClassOperator), Generic(RunForward), Generic(RunBackward)};

// -- A CustomOpProp ---------------------------------------------------------------------------------------------------

struct ClassProperty {
  int64_t id;
  std::vector<std::string> arguments, outputs, states;
  std::vector<int> dependencies;
  void* contexts[10];
};

const ClassProperty& PropertyOf(void* state) { return *static_cast<const ClassProperty*>(state); }

int DeleteClassProperty(void* state) {
  Retire(PropertyOf(state).id);
  delete static_cast<ClassProperty*>(state);
  return 1;
}

int ListAll(const std::vector<std::string>& names, char*** list) { return ListNames(names, 0, names.size(), list); }

int ListClassArguments(char*** list, void* state) { return ListAll(PropertyOf(state).arguments, list); }

int ListClassOutputs(char*** list, void* state) { return ListAll(PropertyOf(state).outputs, list); }

int ListClassStates(char*** list, void* state) { return ListAll(PropertyOf(state).states, list); }

int InferClassShape(int n, int* ndims, int** shapes, void* state) {
  return Guard([&] {
    // Static: MXNet reads it before this thread comes here again.
    static thread_local std::vector<int> dims;
    std::vector<int> inferred(static_cast<size_t>(n) * kPythonMaxDims);
    Ask(python.infer_shape, PropertyOf(state).id, n, ndims, shapes, inferred.data());
    dims = std::move(inferred);
    for (int i = 0; i < n; ++i) shapes[i] = dims.data() + static_cast<size_t>(i) * kPythonMaxDims;
  });
}

int InferClassType(int n, int* types, void* state) {
  return Guard([&] { Ask(python.infer_type, PropertyOf(state).id, n, types); });
}

int InferClassStorageType(int n, int* storages, void* state) {
  return Guard([&] { Ask(python.infer_storage_type, PropertyOf(state).id, n, storages); });
}

int InferClassBackwardStorageType(int n, int* storages, int* tags, void* state) {
  return Guard([&] { Ask(python.infer_backward_storage_type, PropertyOf(state).id, n, storages, tags); });
}

int DeclareClassDependency(const int* /*output_gradients*/, const int* /*inputs*/, const int* /*outputs*/, int* n,
                           int** list, void* state) {
  const std::vector<int>& dependencies = PropertyOf(state).dependencies;
  *n = static_cast<int>(dependencies.size());
  *list = const_cast<int*>(dependencies.data());
  return 1;
}

int CreateClassOperator(const char* context, int n, unsigned** shapes, const int* ndims, const int* types,
                        MXCallbackList* ret, void* state) {
  SetNothing(ret);
  return Guard([&] {
    if (!IsInClass()) WaitForRoom();
    PythonOperator made{};
    Ask(python.create_operator, PropertyOf(state).id, context, n, shapes, ndims, types, &made);
    auto* op = new ClassOperator{made.id, made.unassigned, PropertyOf(state).outputs, {}, {}};
    for (void*& each : op->contexts) each = op;
    *ret = {3, class_operator_callbacks, op->contexts};
  });
}

MXCallback class_property_callbacks[] = {
    Generic(DeleteClassProperty),   Generic(ListClassArguments),
    Generic(ListClassOutputs),      Generic(ListClassStates),
    Generic(InferClassShape),       Generic(DeclareClassDependency),
    Generic(CreateClassOperator),   Generic(InferClassType),
    Generic(InferClassStorageType), Generic(InferClassBackwardStorageType),
};

}  // namespace

void SetPythonFunctions(const PythonFunctions& functions) { python = functions; }

int CreatePythonProperty(const char* op_type, int num_kwargs, const char** keys, const char** values,
                         MXCallbackList* ret) {
  SetNothing(ret);
  return Guard([&] {
    PythonProperty made{};
    Ask(python.create_property, op_type, num_kwargs, keys, values, &made);
    auto* property = new ClassProperty{made.id,
                                       ReadNames(made.arguments),
                                       ReadNames(made.outputs),
                                       ReadNames(made.states),
                                       {made.dependencies, made.dependencies + made.n_dependencies},
                                       {}};
    for (void*& each : property->contexts) each = property;
    *ret = {10, class_property_callbacks, property->contexts};
  });
}

bool IsPythonOperator(const MXCallbackList& list) { return list.callbacks == class_operator_callbacks; }

int64_t NextRetired() {
  std::lock_guard lock(TheRetired().mutex);
  std::vector<int64_t>& ids = TheRetired().ids;
  if (ids.empty()) return 0;
  const int64_t id = ids.back();
  ids.pop_back();
  return id;
}

}  // namespace pykernels::mxnet
