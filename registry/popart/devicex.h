// The device for one op: the tensors of its inputs and outputs.
#ifndef PYKERNELS_REGISTRY_POPART_DEVICEX_H_
#define PYKERNELS_REGISTRY_POPART_DEVICEX_H_

#include <poplar/Graph.hpp>
#include <popart/popx/devicex.hpp>

#include <map>

namespace popart {
namespace popx {

class Devicex {
 public:
  poplar::Graph graph;
  std::map<int, poplar::Tensor> inputs;
  std::map<int, poplar::Tensor> outputs;
};

}  // namespace popx
}  // namespace popart

#endif  // PYKERNELS_REGISTRY_POPART_DEVICEX_H_
