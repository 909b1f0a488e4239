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

// The arrays of a pass; the destructor frees those that Python does not take.
struct UntakenHandles {
  int n;
  void** handles;
  int32_t n_taken = 0;

  ~UntakenHandles() {
    for (int i = n_taken; i < n; ++i) Api().NDArrayFree(handles[i]);
  }
};

class ClassOperator final : public CustomOperator {
 public:
  ClassOperator(const PythonOperator& made, std::vector<std::string> outputs)
      : id_(made.id), unassigned_(made.unassigned), outputs_(std::move(outputs)) {}
  ~ClassOperator() override { Retire(id_); }

  void Run(Pass pass, int n, void** handles, const int* tags, const int* requests, bool is_train) override {
    expected_.Begin();
    UntakenHandles untaken{n, handles};
    auto results = std::make_unique<Results>(pass, n, handles, tags, requests);
    results->Prepare();
    const std::string failure = RunPython(pass, results->Requested(), &untaken, tags, requests, is_train);
    Results::Conclude(std::move(results), failure, unassigned_, outputs_);
  }

 private:
  // Returns the error.
  std::string RunPython(Pass pass, const std::vector<const void*>& written, UntakenHandles* untaken, const int* tags,
                        const int* requests, bool is_train) const {
    const ClassScope scope(written);
    return Try(python.run, id_, static_cast<int32_t>(pass == Pass::kBackward), untaken->n, untaken->handles, tags,
               requests, static_cast<int32_t>(is_train), &untaken->n_taken);
  }

  const int64_t id_;
  const std::string unassigned_;
  const std::vector<std::string> outputs_;
  Expected expected_;
};

// -- A CustomOpProp ---------------------------------------------------------------------------------------------------

class ClassProperty final : public CustomProperty {
 public:
  explicit ClassProperty(const PythonProperty& made)
      : id_(made.id), dependencies_(made.dependencies, made.dependencies + made.n_dependencies) {
    argument_names = made.arguments;
    output_names = made.outputs;
    state_names = made.states;
  }
  ~ClassProperty() override { Retire(id_); }

  bool RunsInEngine() const override { return false; }

  void InferShape(int n, int* ndims, int** shapes) const override {
    // Static: MXNet reads it before this thread comes here again.
    static thread_local std::vector<int> dims;
    std::vector<int> inferred(static_cast<size_t>(n) * kPythonMaxDims);
    Ask(python.infer_shape, id_, n, ndims, shapes, inferred.data());
    dims = std::move(inferred);
    for (int i = 0; i < n; ++i) shapes[i] = dims.data() + static_cast<size_t>(i) * kPythonMaxDims;
  }

  void InferType(int n, int* types) const override { Ask(python.infer_type, id_, n, types); }

  void InferStorageType(int n, int* storages) const override { Ask(python.infer_storage_type, id_, n, storages); }

  void InferBackwardStorageType(int n, int* storages, int* tags) const override {
    Ask(python.infer_backward_storage_type, id_, n, storages, tags);
  }

  void DeclareBackwardDependency(const int* /*output_gradients*/, const int* /*inputs*/, const int* /*outputs*/,
                                 int* n, int** list) const override {
    *n = static_cast<int>(dependencies_.size());
    *list = const_cast<int*>(dependencies_.data());
  }

  std::unique_ptr<CustomOperator> CreateOperator(const char* context, int n, unsigned** shapes, const int* ndims,
                                                 const int* types) const override {
    if (!IsInClass()) WaitForRoom();
    PythonOperator made{};
    Ask(python.create_operator, id_, context, n, shapes, ndims, types, &made);
    return std::make_unique<ClassOperator>(made, ReadNames(output_names));
  }

 private:
  const int64_t id_;
  const std::vector<int> dependencies_;
};

}  // namespace

void SetPythonFunctions(const PythonFunctions& functions) { python = functions; }

int CreatePythonProperty(const char* op_type, int num_kwargs, const char** keys, const char** values,
                         MXCallbackList* ret) {
  return GiveMade(ret, [&] {
    PythonProperty made{};
    Ask(python.create_property, op_type, num_kwargs, keys, values, &made);
    return std::make_unique<ClassProperty>(made);
  });
}

int64_t NextRetired() {
  std::lock_guard lock(TheRetired().mutex);
  std::vector<int64_t>& ids = TheRetired().ids;
  if (ids.empty()) return 0;
  const int64_t id = ids.back();
  ids.pop_back();
  return id;
}

}  // namespace pykernels::mxnet
