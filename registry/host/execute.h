// Running forward and backward passes into buffers of a framework.
#ifndef PYKERNELS_REGISTRY_HOST_EXECUTE_H_
#define PYKERNELS_REGISTRY_HOST_EXECUTE_H_

#include <cstdlib>
#include <memory>
#include <vector>

#include "tensors.h"

namespace pykernels {

class Specialization;

// What to do with a result.
enum class Request { kNull, kWrite, kAdd };

// Where a result goes. A null request needs no buffer.
struct Target {
  void* data = nullptr;
  Request request = Request::kNull;
};

// Buffers are contiguous and not null, even of tensors without elements. A target may overlap an input. If anything
// fails, the targets that are to be written are filled as FillFailed does, and the error is thrown on.
void RunForward(const Specialization& forward, const std::vector<const void*>& inputs,
                const std::vector<Target>& outputs, bool is_train);

// Buffers of the forward pass; null where the gradient does not depend on it.
struct ForwardBuffers {
  std::vector<const void*> inputs;
  std::vector<const void*> outputs;
  std::vector<const void*> output_gradients;
};

void RunBackward(const Specialization& forward, const ForwardBuffers& buffers,
                 const std::vector<Target>& input_gradients, bool is_train);

// Memory that lives until it goes out of scope.
class Scratch {
 public:
  void* Allocate(size_t bytes);

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::vector<std::unique_ptr<void, Free>> blocks_;
};

// Carries out a request on a result computed elsewhere.
void Deliver(const pk_tensor& type, const void* result, const Target& target);

bool Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes);

// FillFailed for every target that is to be written.
void FillFailedTargets(const Tensors& types, const std::vector<Target>& targets);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_EXECUTE_H_
