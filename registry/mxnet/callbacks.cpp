#include "callbacks.h"

namespace pykernels::mxnet {
namespace {

// Converts a function of any of MXNet's callback types to the type that MXCallbackList holds.
template <typename Function>
MXCallback Generic(Function* function) {
  // Over void*, for compilers that warn of a cast between function types.
  return reinterpret_cast<MXCallback>(reinterpret_cast<void*>(function));
}

const CustomProperty& Of(void* state) { return *static_cast<const CustomProperty*>(state); }

template <typename T>
int Delete(void* state) {
  delete static_cast<T*>(state);
  return 1;
}

template <Pass pass>
int Run(int n, void** handles, int* tags, const int* requests, int is_train, void* state) {
  return Guard([&] { static_cast<CustomOperator*>(state)->Run(pass, n, handles, tags, requests, is_train); });
}

template <const char* const* CustomProperty::*names>
int List(char*** list, void* state) {
  *list = const_cast<char**>(Of(state).*names);
  return 1;
}

int InferShape(int n, int* ndims, int** shapes, void* state) {
  return Guard([&] { Of(state).InferShape(n, ndims, shapes); });
}

int InferType(int n, int* types, void* state) {
  return Guard([&] { Of(state).InferType(n, types); });
}

int InferStorageType(int n, int* storages, void* state) {
  return Guard([&] { Of(state).InferStorageType(n, storages); });
}

int InferBackwardStorageType(int n, int* storages, int* tags, void* state) {
  return Guard([&] { Of(state).InferBackwardStorageType(n, storages, tags); });
}

int DeclareBackwardDependency(const int* output_gradients, const int* inputs, const int* outputs, int* n, int** list,
                              void* state) {
  return Guard([&] { Of(state).DeclareBackwardDependency(output_gradients, inputs, outputs, n, list); });
}

int CreateOperator(const char* context, int n, unsigned** shapes, const int* ndims, const int* types,
                   MXCallbackList* ret, void* state) {
  return GiveMade(ret, [&] { return Of(state).CreateOperator(context, n, shapes, ndims, types); });
}

int Ignore(void* /*state*/) { return 1; }

MXCallback operator_callbacks[] = {Generic(Delete<CustomOperator>), Generic(Run<Pass::kForward>),
                                   Generic(Run<Pass::kBackward>)};

MXCallback property_callbacks[] = {
    Generic(Delete<CustomProperty>),        Generic(List<&CustomProperty::argument_names>),
    Generic(List<&CustomProperty::output_names>), Generic(List<&CustomProperty::state_names>),
    Generic(InferShape),                    Generic(DeclareBackwardDependency),
    Generic(CreateOperator),                Generic(InferType),
    Generic(InferStorageType),              Generic(InferBackwardStorageType),
};

template <typename Object>
void GiveWith(MXCallback* callbacks, std::unique_ptr<Object> made, MXCallbackList* ret) {
  for (void*& each : made->contexts) each = made.get();
  *ret = {static_cast<int>(std::size(made->contexts)), callbacks, made->contexts};
  made.release();
}

}  // namespace

CustomProperty* PropertyOf(const MXCallbackList& list) {
  return list.callbacks == property_callbacks ? static_cast<CustomProperty*>(list.contexts[0]) : nullptr;
}

CustomOperator* OperatorOf(const MXCallbackList& list) {
  return list.callbacks == operator_callbacks ? static_cast<CustomOperator*>(list.contexts[0]) : nullptr;
}

void SetNothing(MXCallbackList* ret) {
  static MXCallback callbacks[] = {Generic(Ignore)};
  static void* contexts[] = {nullptr};
  *ret = {1, callbacks, contexts};
}

void Give(std::unique_ptr<CustomProperty> made, MXCallbackList* ret) {
  GiveWith(property_callbacks, std::move(made), ret);
}

void Give(std::unique_ptr<CustomOperator> made, MXCallbackList* ret) {
  GiveWith(operator_callbacks, std::move(made), ret);
}

}  // namespace pykernels::mxnet
