// The computation of an op: grow() adds it to a program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <popart/op.hpp>
#include <popart/popx/devicex.hpp>

namespace popart {
namespace popx {

enum class InputCreatorType { CanCreate = 0, CanUnwind, CanCreateOrUnwind, Deadend };

class Opx {
 public:
  Opx(Op* op, Devicex* devicex) : op_p(op), dv_p(devicex) {}
  virtual ~Opx() {}

  virtual void grow(poplar::program::Sequence& prog) const;

  // Functions that choose the layout of tensors on tiles; unused here.
  virtual poplar::Tensor createInput(InIndex, const poplar::DebugNameAndId&) const { return poplar::Tensor(); }
  virtual poplar::Tensor createInputTensor(InIndex, const poplar::DebugNameAndId&) const { return poplar::Tensor(); }
  virtual InputCreatorType getInputCreatorType(InIndex) const { return InputCreatorType::Deadend; }
  virtual bool canUnwind(InIndex, OutIndex) const { return false; }
  virtual poplar::Tensor unwindTensorLayout(poplar::Tensor tensor, InIndex, OutIndex) const { return tensor; }
  virtual view::RegMap unwindRegion(InIndex, OutIndex) const { return nullptr; }
  virtual bool createsEquiv(int, const Opx*, int) const { return false; }
  virtual bool outputCreatedExternally(OutIndex) const { return false; }
  virtual std::set<TensorId> mustExistBeforeCreate(int) const { return {}; }

  poplar::Graph& graph() const;
  poplar::Graph& topLevelGraph() const { return graph(); }
  const poplar::Tensor& getInTensor(InIndex i) const;
  const poplar::Tensor& getOutTensor(OutIndex i) const;
  const poplar::Tensor& get(const TensorId& id) const;
  void setOutTensor(OutIndex i, const poplar::Tensor& tensor) const;
  void insert(const TensorId& id, const poplar::Tensor& tensor) const;
  poplar::Tensor cloneNcopy(poplar::program::Sequence& prog, const poplar::Tensor& tensor,
                            const std::string& name = "") const;
  poplar::Tensor cloneNcopy(poplar::program::Sequence& prog, const TensorId& id) const {
    return cloneNcopy(prog, get(id));
  }
  poplar::Tensor broadcast(const std::vector<int64_t>& shape, poplar::Tensor tensor) const;
  poplar::Tensor broadcast(const std::vector<int64_t>& shape, const TensorId& id) const {
    return broadcast(shape, get(id));
  }
  poplar::Tensor getConst(const poplar::Type& type, const std::vector<std::size_t>& shape, double value,
                          const std::string&) const {
    return graph().addConstant(type, shape, value);
  }
  poplar::Tensor getScalarVariable(const poplar::Type& type, const std::string& name) const {
    return graph().addVariable(type, {}, name);
  }
  poplar::Tensor getZerosTensor(std::vector<std::size_t> shape, poplar::Type type, std::string) const {
    return graph().addConstant(type, shape, 0);
  }

  bool hasInput(InIndex i) const { return op_p->hasInput(i); }
  bool hasOutput(OutIndex i) const { return op_p->hasOutput(i); }
  Tensor* inTensor(InIndex i) const { return op_p->inTensor(i); }
  Tensor* outTensor(OutIndex i) const { return op_p->outTensor(i); }
  TensorId inId(InIndex i) const { return op_p->inId(i); }
  TensorId outId(OutIndex i) const { return op_p->outId(i); }
  const TensorInfo& inInfo(InIndex i) const { return op_p->inInfo(i); }
  const TensorInfo& outInfo(OutIndex i) const { return op_p->outInfo(i); }
  const Shape& inShape(InIndex i) const { return op_p->inShape(i); }
  const Shape& outShape(OutIndex i) const { return op_p->outShape(i); }
  std::vector<std::size_t> inShapeSzt(InIndex i) const { return inInfo(i).shape_szt(); }

  template <typename OP>
  OP& getOp() const {
    OP* op = dynamic_cast<OP*>(op_p);
    if (!op) throw error("getOp(): {} is an op of another class", op_p->opid);
    return *op;
  }
  template <typename OP>
  void verifyOp(Op* op, const OperatorIdentifier& opid) {
    if (op->opid.domain != opid.domain || op->opid.type != opid.type) {
      throw error("this Opx is for {}, and not for {}", opid, op->opid);
    }
  }
  template <typename OP>
  void verifyOp(Op* op, std::vector<OperatorIdentifier> opids) {
    for (const OperatorIdentifier& each : opids) {
      if (op->opid == each) return;
    }
    throw error("this Opx is for other ops than {}", op->opid);
  }
  template <typename OP>
  void verifyOp(Op* op) {
    if (!op->isConvertibleTo<OP>()) throw error("this Opx is for ops of another class than that of {}", op->opid);
  }

  poplar::DebugContext debugContext(const std::string& name = "",
                                    poplar::SourceLocation = poplar::SourceLocation::Current()) const {
    return poplar::DebugContext(poplar::DebugNameAndId(op_p->name()), name);
  }
  poplar::DebugNameAndId getDebugNameAndId(const std::string& name = "",
                                           poplar::SourceLocation = poplar::SourceLocation::Current()) const {
    return poplar::DebugNameAndId(op_p->name(), name);
  }

  double inputCreatorPriority{0.0};
  Op* op_p;

 protected:
  Devicex* dv_p;
};

}  // namespace popx
}  // namespace popart
