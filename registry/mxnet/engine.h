// Runs our ops inside MXNet's engine, like its own ops, instead of on the threads of its custom operators.
#pragma once

namespace pykernels::mxnet {

struct Engine;

// Addresses of symbols that libmxnet exports besides its C API.
struct EngineSymbols {
  const void* (*GetAttrMap)(const void* name);  // nnvm::Op::GetAttrMap(std::string const&)
  void** (*Data)(const void* array);            // mxnet::NDArray::data() const
  void (*Reorder2Default)(void* chunk);         // mxnet::NDArray::Chunk::Reorder2Default()
  Engine* (*GetEngine)();                       // mxnet::Engine::Get()
};

// Makes MXNet's operators `Custom` and `_backward_Custom` pass our ops to us from now on, with the requests of the
// caller and arrays that stay valid, and gives gradients of our ops gradients; all others run as before. Throws the
// reason if this is not possible: it works only with the libmxnet whose memory layout is known. May be called again.
void EnterEngine(const EngineSymbols& symbols);

// Restores MXNet's own functions.
void LeaveEngine();

}  // namespace pykernels::mxnet
