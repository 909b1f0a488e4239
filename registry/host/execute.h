// Runs forward and backward passes into buffers of a framework.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "tensors.h"

namespace pykernels {

class Specialization;

// What to do with a result: nothing, write it, or add it to the buffer.
enum class Request { kNull, kWrite, kAdd };

// Where a result goes. A null request needs no buffer.
struct Target {
  void* data = nullptr;
  Request request = Request::kNull;
};

// Runs the forward pass. Buffers are contiguous and not null, even for tensors without elements. A target may overlap
// an input. If anything fails, the targets with a write request are filled by FillFailed, and the error propagates.
void RunForward(const Specialization& forward, const std::vector<const void*>& inputs,
                const std::vector<Target>& outputs, bool is_train);

// Buffers of the forward pass; null where the gradient does not depend on them.
struct ForwardBuffers {
  std::vector<const void*> inputs;
  std::vector<const void*> outputs;
  std::vector<const void*> output_gradients;
};

void RunBackward(const Specialization& forward, const ForwardBuffers& buffers,
                 const std::vector<Target>& input_gradients, bool is_train);

// Memory that lives until this object goes out of scope.
class Scratch {
 public:
  void* Allocate(size_t bytes);

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::vector<std::unique_ptr<void, Free>> blocks_;
};

// Writes or adds a result that was computed elsewhere.
void Deliver(const pk_tensor& type, const void* result, const Target& target);

bool Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes);

// Calls FillFailed for every target with a write request.
void FillFailedTargets(const Tensors& types, const std::vector<Target>& targets);

}  // namespace pykernels
