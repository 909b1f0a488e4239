#include "engine.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "../host/error.h"
#include "../host/mutex.h"
#include "broken.h"
#include "in_flight.h"
#include "layout.h"
#include "operator.h"
#include "recorded_gradient.h"

namespace pykernels::mxnet {
namespace {

// -- Arrays -----------------------------------------------------------------------------------------------------------

EngineSymbols the_symbols;

enum class Use { kRead, kWrite };

Array ReadArray(const char* array, Use use) {
  // The cast is safe: MXNet's C API does not write when it reads an array.
  Array read = ReadType(const_cast<char*>(array));
  if (read.type.dtype == PK_INVALID_DTYPE) return read;
  // MXNet passes inputs in plain order, but an array that results are added to may still be in MKLDNN's own order.
  if (use == Use::kWrite) the_symbols.Reorder2Default(*reinterpret_cast<void* const*>(array));
  SetData(*the_symbols.Data(array), &read);
  return read;
}

std::vector<const char*> Split(const ArrayVector& vector, size_t count) {
  const size_t bytes = vector.end - vector.begin;
  if (count == 0 ? bytes != 0 : bytes % count != 0) {
    Fail(kPykernelsError, "MXNet gives another number of arrays than was agreed");
  }
  std::vector<const char*> arrays;
  for (size_t i = 0; i < count; ++i) arrays.push_back(vector.begin + i * (bytes / count));
  return arrays;
}

// Reads all arrays. The last `n_states` are changed in place.
std::vector<Array> ReadAll(const ArrayVector& vector, size_t count, size_t n_states) {
  std::vector<Array> arrays;
  for (const char* array : Split(vector, count + n_states)) {
    arrays.push_back(ReadArray(array, arrays.size() < count ? Use::kRead : Use::kWrite));
  }
  return arrays;
}

std::vector<Array> ReadTargets(const ArrayVector& vector, size_t count, const RequestVector& requests) {
  std::vector<Array> arrays;
  for (const char* array : Split(vector, count)) {
    const bool is_wanted = requests.begin[arrays.size()] != kReqNull;
    arrays.push_back(is_wanted ? ReadArray(array, Use::kWrite) : Array());
  }
  return arrays;
}

// -- Operators that run on MXNet's threads ----------------------------------------------------------------------------

// Returns handles that keep the arrays alive.
std::vector<OwnedArray> Hold(const std::vector<const char*>& arrays) {
  std::vector<OwnedArray> held;
  for (const char* array : arrays) held.push_back(Share(const_cast<char*>(array)));
  return held;
}

std::vector<NDArrayHandle> InPlainOrder(const std::vector<OwnedArray>& arrays) {
  const std::vector<NDArrayHandle> handles = Handles(arrays);
  for (NDArrayHandle array : handles) {
    int storage = kStorageNone;
    Check(Api().NDArrayGetStorageType(array, &storage));
    if (storage == kStorageDefault) the_symbols.Reorder2Default(*static_cast<void* const*>(array));
  }
  return handles;
}

// Everything that an operator on a thread needs until its results are written.
struct OnThread {
  OnThread(const std::vector<const char*>& inputs, const std::vector<const char*>& outputs)
      : read(Hold(inputs)), written(Hold(outputs)), results(InPlainOrder(written)) {}

  // If MKLDNN left an array in its own order, MXNet passes the operator a copy in plain order, assumes that it has read
  // it and frees the copy as soon as the operator is queued for a thread.
  const std::vector<OwnedArray> read;
  const std::vector<OwnedArray> written;
  const ResultScope results;
  const InFlight in_flight;
};

void RunOnThread(const ComputeFunction& run, const OpStatePtr& state, const OpContext& context,
                 const ArrayVector& inputs, size_t n_inputs, const RequestVector& requests, const ArrayVector& outputs,
                 size_t n_outputs) {
  // The vectors may be gone once the operator is queued.
  auto needed = std::make_unique<OnThread>(Split(inputs, n_inputs), Split(outputs, n_outputs));
  std::vector<NDArrayHandle> written = Handles(needed->written);
  run(state, context, inputs, requests, outputs);
  if (written.empty()) return;
  const auto nothing = [](void*, void*) {};
  const auto free = [](void* done) { delete static_cast<const OnThread*>(done); };
  const MXContext cpu{1, 0};
  Check(Api().EnginePushSyncND(nothing, needed.release(), free, &cpu, nullptr, 0, written.data(),
                               static_cast<int>(written.size()), &kNoSkip, 0, "PythonOperatorArrays"));
}

// -- Operators that run here ------------------------------------------------------------------------------------------

// Runs a kernel that writes `outputs`, and marks them broken if it fails.
template <typename Body>
void RunKernel(const ArrayVector& outputs, size_t n_outputs, const RequestVector& requests, const Body& body) {
  const KernelScope scope;
  try {
    Guard(body);
  } catch (const dmlc::Error& error) {
    const std::exception_ptr failure = std::make_exception_ptr(Failure(error.what()));
    const std::vector<const char*> arrays = Split(outputs, n_outputs);
    std::vector<const void*> broken;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (requests.begin[i] != kReqNull) broken.push_back(arrays[i]);
    }
    MarkBroken(broken, failure);
    std::rethrow_exception(failure);
  }
}

// -- Replacements for MXNet's functions -------------------------------------------------------------------------------

struct Hooks {
  ComputeFunction forward;
  ComputeFunction backward;
  ExecTypeFunction forward_type;
  ExecTypeFunction backward_type;
  OpMap<GradientFunction>::Entry backward_gradient;
};

// Where MXNet keeps these functions.
struct Slots {
  ComputeFunction* forward;
  ComputeFunction* backward;
  ExecTypeFunction* forward_type;
  ExecTypeFunction* backward_type;
  OpMap<GradientFunction>::Entry* backward_gradient;

  void Fill(const Hooks& hooks) const {
    *forward = hooks.forward;
    *backward = hooks.backward;
    *forward_type = hooks.forward_type;
    *backward_type = hooks.backward_type;
    *backward_gradient = hooks.backward_gradient;
  }
};

Slots the_slots{};

// MXNet's original functions. Never destroyed: MXNet's threads may outlive static objects.
Hooks* originals = nullptr;
bool is_entered = false;

// Guards entering and leaving the engine.
Mutex& TheMutex() {
  static auto* mutex = new Mutex;
  return *mutex;
}

const CustomParam& ParamOf(const OpStatePtr& state) { return *static_cast<const CustomParam*>(state->state); }

void ForwardInEngine(const OpStatePtr& state, const OpContext& context, const ArrayVector& inputs,
                     const RequestVector& requests, const ArrayVector& outputs) {
  const CustomParam& param = ParamOf(state);
  const CustomOperator* custom = OperatorOf(*param.info);
  if (!custom) return originals->forward(state, context, inputs, requests, outputs);
  const auto* op = dynamic_cast<const Operator*>(custom);
  if (!op) {
    Guard([&] {
      RunOnThread(originals->forward, state, context, inputs, param.num_args + param.num_auxs, requests, outputs,
                  param.num_outs);
    });
    return;
  }
  RunKernel(outputs, param.num_outs, requests, [&] {
    op->Forward(ReadAll(inputs, param.num_args, param.num_auxs), ReadTargets(outputs, param.num_outs, requests),
                requests.begin, context.is_train);
  });
}

void BackwardInEngine(const OpStatePtr& state, const OpContext& context, const ArrayVector& inputs,
                      const RequestVector& requests, const ArrayVector& outputs) {
  const CustomParam& param = ParamOf(state);
  const size_t n_given = param.dependencies_end - param.dependencies;
  if (const RecordedGradient* recorded = AsRecorded(param)) {
    RunKernel(outputs, param.num_args, requests, [&] {
      recorded->Run(ReadAll(inputs, n_given, 0), ReadTargets(outputs, param.num_args, requests), requests.begin,
                    context.is_train);
    });
    return;
  }
  const CustomOperator* custom = OperatorOf(*param.info);
  if (!custom) return originals->backward(state, context, inputs, requests, outputs);
  const auto* op = dynamic_cast<const Operator*>(custom);
  if (!op) {
    Guard([&] {
      RunOnThread(originals->backward, state, context, inputs, n_given + param.num_auxs, requests, outputs,
                  param.num_args);
    });
    return;
  }
  RunKernel(outputs, param.num_args, requests, [&] {
    // The tensors of the forward pass, by the numbers that DeclareBackwardDependency used to request them.
    std::vector<Array> forward(2 * param.num_outs + param.num_args);
    const std::vector<Array> given = ReadAll(inputs, n_given, param.num_auxs);
    for (size_t i = 0; i < n_given; ++i) forward.at(param.dependencies[i]) = given[i];
    const auto values = forward.begin() + param.num_outs;
    const auto results = values + param.num_args;
    std::vector<Array> read(values, results);
    read.insert(read.end(), given.begin() + n_given, given.end());
    op->Backward({forward.begin(), values}, read, {results, forward.end()},
                 ReadTargets(outputs, param.num_args, requests), requests.begin, context.is_train);
  });
}

std::vector<NodeEntry> BackwardGradient(const NodePtr& node, const std::vector<NodeEntry>& output_gradients) {
  std::optional<std::vector<NodeEntry>> gradients;
  Guard([&] { gradients = DifferentiateGradient(node, output_gradients); });
  if (gradients) return *std::move(gradients);
  const GradientFunction& original = originals->backward_gradient.function;
  if (original) return original(node, output_gradients);
  Guard([&] { gradients = DifferentiateOthers(node, output_gradients); });
  return *std::move(gradients);
}

bool RunsInEngine(const NodeAttrs& attributes) {
  const CustomProperty* property = PropertyOf(*static_cast<const CustomParam*>(attributes.parsed.heap)->info);
  return property && property->RunsInEngine();
}

int ForwardExecType(const NodeAttrs& attributes) {
  return RunsInEngine(attributes) ? kExecSync : originals->forward_type(attributes);
}

int BackwardExecType(const NodeAttrs& attributes) {
  return RunsInEngine(attributes) ? kExecSync : originals->backward_type(attributes);
}

// -- Installing the replacements --------------------------------------------------------------------------------------

void Require(bool condition, const char* what) {
  if (!condition) Fail(kLoadError, "libmxnet is not laid out as expected: ", what);
}

const RegisteredOp* FindRegistered(const char* name) {
  void* found = nullptr;
  Check(Api().GetOpHandle(name, &found));
  const auto* op = static_cast<const RegisteredOp*>(found);
  Require(std::strcmp(op->name, name) == 0, "the name of an operator");
  return op;
}

// Returns where MXNet keeps the function `attribute` of an operator, and whether it has one.
template <typename Function>
typename OpMap<Function>::Entry* FindEntry(const char* attribute, const RegisteredOp* op) {
  const OldString name(attribute);
  const auto* found = static_cast<const Any*>(the_symbols.GetAttrMap(&name));
  Require(found, "the attributes of operators");
  const char* type = found->type->info->name();
  Require(std::strncmp(type, "N4nnvm5OpMapISt8functionI", 25) == 0, "the type of an attribute");
  const auto* map = static_cast<const OpMap<Function>*>(found->heap);
  Require(std::strcmp(map->attribute, attribute) == 0, "the name of an attribute");
  Require(op->index < static_cast<size_t>(map->end - map->begin), "the number of an operator");
  auto* entry = map->begin + op->index;
  Require((entry->level > 0) == static_cast<bool>(entry->function), "the function of an operator");
  return entry;
}

template <typename Function>
Function* FindFunction(const char* attribute, const RegisteredOp* op) {
  auto* entry = FindEntry<Function>(attribute, op);
  Require(entry->level > 0, "the functions of an operator");
  return &entry->function;
}

}  // namespace

void EnterEngine(const EngineSymbols& symbols) {
  std::lock_guard lock(TheMutex());
  if (is_entered) return;
  if (!kIsSameLayout) Fail(kLoadError, "the C++ library that the registrar is built with is not that of libmxnet");
  if (!is_known_build) Fail(kLoadError, "libmxnet is not the one of mxnet 1.9.1 on PyPI");
  the_symbols = symbols;
  const RegisteredOp* custom = FindRegistered("Custom");
  const RegisteredOp* backward = FindRegistered("_backward_Custom");
  the_slots = {FindFunction<ComputeFunction>("FStatefulComputeEx<cpu>", custom),
               FindFunction<ComputeFunction>("FStatefulComputeEx<cpu>", backward),
               FindFunction<ExecTypeFunction>("FExecType", custom),
               FindFunction<ExecTypeFunction>("FExecType", backward),
               FindEntry<GradientFunction>("FGradient", backward)};
  if (!originals) {
    originals = new Hooks{*the_slots.forward, *the_slots.backward, *the_slots.forward_type, *the_slots.backward_type,
                          *the_slots.backward_gradient};
  }
  the_slots.Fill({ForwardInEngine, BackwardInEngine, ForwardExecType, BackwardExecType, {BackwardGradient, 1}});
  WatchEngine(symbols.GetEngine());
  is_entered = true;
}

void LeaveEngine() {
  std::lock_guard lock(TheMutex());
  if (!is_entered) return;
  UnwatchEngine(the_symbols.GetEngine());
  the_slots.Fill(*originals);
  is_entered = false;
}

}  // namespace pykernels::mxnet
