// Graphs: the variables and constants that programs work on.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/exceptions.hpp>

// Features without a counterpart on a CPU stop the compiler with the place of the call and the reason.
#define POPART_CPU_REFUSE(name, what)         \
  template <typename... Arguments>            \
  __attribute__((error("PopART on the CPU has no " what))) int name(Arguments&&...);

namespace poplar {

enum class VariableMappingMethod { NONE, LINEAR };
enum class TensorCloneMethod { PRESERVE_ORDER_AND_ALIASES, CREATE_NEW_ORDER, PRESERVE_ORDER_UNLESS_ALIASES };

// The device, which has a single tile here.
class Target {
 public:
  unsigned getNumTiles() const { return 1; }
  unsigned getTilesPerIPU() const { return 1; }
  unsigned getNumIPUs() const { return 1; }
  unsigned getNumWorkerContexts() const { return 1; }
  std::size_t getTypeSize(Type type) const { return type.size(); }
};

class Graph {
 public:
  const Target& getTarget() const { return target_; }
  unsigned getNumTiles() const { return 1; }

  // Add variables whose elements are undefined.
  Tensor addVariable(Type type, ArrayRef<std::size_t> shape, const DebugContext& context = {});
  Tensor addVariable(Type type, ArrayRef<std::size_t> shape, VariableMappingMethod, const DebugContext& context = {}) {
    return addVariable(type, shape, context);
  }
  Tensor addLinearlyMappedVariable(Type type, ArrayRef<std::size_t> shape, const DebugContext& context = {}) {
    return addVariable(type, shape, context);
  }
  Tensor clone(const Tensor& tensor, const DebugContext& context = {},
               TensorCloneMethod = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
    return addVariable(tensor.elementType(), tensor.shape(), context);
  }
  Tensor clone(Type type, const Tensor& tensor, const DebugContext& context = {},
               TensorCloneMethod = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
    return addVariable(type, tensor.shape(), context);
  }

  // Adds a constant of one value, or of one value for each element.
  template <typename T>
  Tensor addConstant(Type type, ArrayRef<std::size_t> shape, T value, const DebugContext& = {}) {
    return Constant(type, shape, std::vector<double>(1, static_cast<double>(value)));
  }
  template <typename T>
  Tensor addConstant(Type type, ArrayRef<std::size_t> shape, const T* values, const DebugContext& = {}) {
    return Constant(type, shape, std::vector<double>(values, values + Count(shape)));
  }
  template <typename T>
  Tensor addConstant(Type type, ArrayRef<std::size_t> shape, const std::vector<T>& values, const DebugContext& = {}) {
    return AllOf(type, shape, std::vector<double>(values.begin(), values.end()));
  }
  template <typename T>
  Tensor addConstant(Type type, ArrayRef<std::size_t> shape, ArrayRef<T> values, const DebugContext& = {}) {
    return AllOf(type, shape, std::vector<double>(values.begin(), values.end()));
  }

  // Does nothing: everything is on the one tile.
  template <typename... Arguments>
  void setTileMapping(const Tensor&, Arguments&&...) {}

  POPART_CPU_REFUSE(addCodelets, "codelets: write the computation with popops expressions")
  POPART_CPU_REFUSE(addComputeSet, "compute sets: write the computation with popops expressions")
  POPART_CPU_REFUSE(addVertex, "vertices: write the computation with popops expressions")
  POPART_CPU_REFUSE(connect, "vertices: write the computation with popops expressions")
  POPART_CPU_REFUSE(addHostToDeviceFIFO, "streams: an op's data are its inputs and outputs")
  POPART_CPU_REFUSE(addDeviceToHostFIFO, "streams: an op's data are its inputs and outputs")
  POPART_CPU_REFUSE(addRemoteBuffer, "remote buffers: an op's data are its inputs and outputs")
  POPART_CPU_REFUSE(addFunction, "functions: add the steps to the sequence")
  POPART_CPU_REFUSE(createVirtualGraph, "virtual graphs")
  POPART_CPU_REFUSE(setInitialValue, "initial values: copy a constant")
  POPART_CPU_REFUSE(createHostWrite, "streams: an op's data are its inputs and outputs")
  POPART_CPU_REFUSE(createHostRead, "streams: an op's data are its inputs and outputs")

 private:
  static std::size_t Count(ArrayRef<std::size_t> shape);
  static Tensor Constant(Type type, ArrayRef<std::size_t> shape, const std::vector<double>& values);
  static Tensor AllOf(Type type, ArrayRef<std::size_t> shape, const std::vector<double>& values);

  Target target_;
};

}  // namespace poplar
