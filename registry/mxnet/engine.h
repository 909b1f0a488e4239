// Running our ops inside MXNet's engine, as its own ops run, instead of on the threads of its custom operators.
#ifndef PYKERNELS_REGISTRY_MXNET_ENGINE_H_
#define PYKERNELS_REGISTRY_MXNET_ENGINE_H_

namespace pykernels::mxnet {

struct Engine;

// Addresses of what libmxnet exports beside its C API.
struct EngineSymbols {
  int (*NNGetOpHandle)(const char* name, void** op);
  const void* (*GetAttrMap)(const void* name);  // nnvm::Op::GetAttrMap(std::string const&)
  void** (*Data)(const void* array);            // mxnet::NDArray::data() const
  void (*Reorder2Default)(void* chunk);         // mxnet::NDArray::Chunk::Reorder2Default()
  Engine* (*GetEngine)();                       // mxnet::Engine::Get()
};

// From now on MXNet's operators `Custom` and `_backward_Custom` hand our ops to us, with the requests of the caller and
// arrays that stay valid; all others go where they went. Throws why it cannot be done: it takes the one libmxnet whose
// memory layout is known. May be called again.
void EnterEngine(const EngineSymbols& symbols);

// Gives MXNet back what it had.
void LeaveEngine();

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_ENGINE_H_
