#include "execute.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "backward.h"
#include "dtype.h"
#include "specialization.h"

namespace pykernels {
namespace {

// As wide as the widest vector registers.
constexpr size_t kAlignment = 64;

bool AnyRequested(const std::vector<Target>& targets) {
  return std::any_of(targets.begin(), targets.end(),
                     [](const Target& target) { return target.request != Request::kNull; });
}

bool CanWriteInPlace(const Specialization& forward, const std::vector<const void*>& inputs, size_t output,
                     const std::vector<Target>& targets) {
  const Target& target = targets[output];
  if (target.request != Request::kWrite) return false;
  const size_t bytes = CountBytes(forward.outputs()[output]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (Overlap(target.data, bytes, inputs[i], CountBytes(forward.inputs()[i]))) return false;
  }
  for (size_t i = 0; i < output; ++i) {
    if (targets[i].request != Request::kNull &&
        Overlap(target.data, bytes, targets[i].data, CountBytes(forward.outputs()[i]))) {
      return false;
    }
  }
  return true;
}

void RunInto(const Specialization& forward, const std::vector<const void*>& inputs, const std::vector<Target>& targets,
             bool is_train) {
  Scratch scratch;
  std::vector<void*> data;
  for (const void* input : inputs) data.push_back(const_cast<void*>(input));
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool in_place = CanWriteInPlace(forward, inputs, i, targets);
    data.push_back(in_place ? targets[i].data : scratch.Allocate(CountBytes(forward.outputs()[i])));
  }
  forward.Run(data, is_train);
  for (size_t i = 0; i < targets.size(); ++i) {
    const void* result = data[inputs.size() + i];
    if (result != targets[i].data) Deliver(forward.outputs()[i], result, targets[i]);
  }
}

}  // namespace

void* Scratch::Allocate(size_t bytes) {
  const size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (!data) throw std::bad_alloc();
  blocks_.emplace_back(data);
  return data;
}

void Deliver(const pk_tensor& type, const void* result, const Target& target) {
  if (target.request == Request::kWrite) std::memmove(target.data, result, CountBytes(type));
  if (target.request == Request::kAdd) Accumulate(type.dtype, target.data, result, CountElements(type));
}

bool Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a);
  const auto b_begin = reinterpret_cast<uintptr_t>(b);
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

void FillFailedTargets(const Tensors& types, const std::vector<Target>& targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    // Targets that results are added to keep their values.
    if (targets[i].request != Request::kWrite) continue;
    FillFailed(types[i].dtype, targets[i].data, CountElements(types[i]));
  }
}

void RunForward(const Specialization& forward, const std::vector<const void*>& inputs,
                const std::vector<Target>& outputs, bool is_train) {
  // An op without outputs runs for the inputs that it changes.
  if (!outputs.empty() && !AnyRequested(outputs)) return;
  try {
    RunInto(forward, inputs, outputs, is_train);
  } catch (...) {
    FillFailedTargets(forward.outputs(), outputs);
    throw;
  }
}

void RunBackward(const Specialization& forward, const ForwardBuffers& buffers,
                 const std::vector<Target>& input_gradients, bool is_train) {
  if (!AnyRequested(input_gradients)) return;
  try {
    forward.Backward().Run(buffers, input_gradients, is_train);
  } catch (...) {
    FillFailedTargets(forward.inputs(), input_gradients);
    throw;
  }
}

}  // namespace pykernels
