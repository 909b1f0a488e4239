// Custom operators as MXNet sees them: objects behind lists of functions that MXNet calls and finally deletes.
#pragma once

#include <memory>

#include "api.h"

namespace pykernels::mxnet {

enum class Pass { kForward, kBackward };

// An operator at one place in a graph.
struct CustomOperator {
  virtual ~CustomOperator() = default;

  // Runs a pass on `n` arrays, whose handles the callee frees. `requests` holds one of Req for each result.
  virtual void Run(Pass pass, int n, void** handles, const int* tags, const int* requests, bool is_train) = 0;

  void* contexts[3];  // of the functions: all point to this object
};

// A use of an operator with its attributes, which MXNet asks before any data flows.
struct CustomProperty {
  virtual ~CustomProperty() = default;

  // Whether its operators run inside the engine once it has been entered.
  virtual bool RunsInEngine() const = 0;

  // Complete what is known of all arrays, in this order: arguments, outputs, states. But MXNet gives InferShape the
  // shapes of the arguments and the states first. What `shapes` and `list` point to stays valid until this thread calls
  // again.
  virtual void InferShape(int n, int* ndims, int** shapes) const = 0;
  virtual void InferType(int n, int* types) const = 0;
  virtual void InferStorageType(int n, int* storages) const = 0;
  virtual void InferBackwardStorageType(int n, int* storages, int* tags) const = 0;
  virtual void DeclareBackwardDependency(const int* output_gradients, const int* inputs, const int* outputs, int* n,
                                         int** list) const = 0;
  virtual std::unique_ptr<CustomOperator> CreateOperator(const char* context, int n, unsigned** shapes,
                                                         const int* ndims, const int* types) const = 0;

  // The names of its arrays; each list ends with null.
  const char* const* argument_names = nullptr;
  const char* const* output_names = nullptr;
  const char* const* state_names = nullptr;

  void* contexts[10];
};

// Return the object behind a list of functions; null if it is not ours.
CustomProperty* PropertyOf(const MXCallbackList& list);
CustomOperator* OperatorOf(const MXCallbackList& list);

// Sets an empty list: MXNet deletes the list that it receives, even after a failure.
void SetNothing(MXCallbackList* ret);

// Gives MXNet an object that it deletes later.
void Give(std::unique_ptr<CustomProperty> made, MXCallbackList* ret);
void Give(std::unique_ptr<CustomOperator> made, MXCallbackList* ret);

// Gives MXNet what `make` returns.
template <typename Make>
int GiveMade(MXCallbackList* ret, const Make& make) {
  SetNothing(ret);
  return Guard([&] { Give(make(), ret); });
}

}  // namespace pykernels::mxnet
