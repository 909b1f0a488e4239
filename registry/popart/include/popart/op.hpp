// Ops: their names, inputs, outputs and attributes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <popart/attributes.hpp>
#include <popart/error.hpp>
#include <popart/names.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/opserialiser.hpp>
#include <popart/region.hpp>
#include <popart/tensorindex.hpp>
#include <popart/tensorinfo.hpp>
#include <popart_cpu/headers.hpp>  // written when libpopart.so is built

// A library built with other headers than libpopart.so does not find this symbol when it is loaded.
extern "C" const char POPART_CPU_HEADERS;
namespace {
__attribute__((used)) const char* const popart_cpu_headers = &POPART_CPU_HEADERS;
}

namespace popart {

// The source of a gradient op's input: an input or output of the op, or the gradient of an output.
enum class GradOpInType { In = 0, Out, GradOut };

class GradInOutMapper {
 public:
  GradInOutMapper(InIndex iGrad, int iNonGrad, GradOpInType type) : iGrad(iGrad), iNonGrad(iNonGrad), type(type) {}

  InIndex iGrad;
  int iNonGrad;
  GradOpInType type;
};

class Op {
 public:
  struct Settings {
    Settings() {}
    explicit Settings(std::string name) : name(std::move(name)) {}
    Settings copy(const std::string& other) const { return Settings(other); }

    std::string name;
  };

  Op(const OperatorIdentifier& opid, const Settings& settings);
  Op(const Op& other);
  Op& operator=(const Op&) = delete;
  virtual ~Op();

  OperatorIdentifier opid;
  Settings settings;
  std::unique_ptr<TensorIndexMap> input;
  std::unique_ptr<TensorIndexMap> output;

  virtual std::unique_ptr<Op> clone() const = 0;
  // Sets outInfo() from inInfo().
  virtual void setup();

  virtual std::vector<std::unique_ptr<Op>> getGradOps();
  // For a gradient op: the sources of its inputs, and the op's input for which each output is the gradient.
  virtual const std::vector<GradInOutMapper>& gradInputInfo() const;
  virtual const std::map<int, int>& gradOutToNonGradIn() const;
  virtual int getNonGradInIndex(int gradOpOutIndex) const { return gradOutToNonGradIn().at(gradOpOutIndex); }
  virtual std::set<InIndex> optionalInputs() const { return {}; }

  // Queries of PopART's scheduler, transforms and cache; unused here.
  virtual void appendAttributes(OpSerialiserBase&) const {}
  virtual void appendOutlineAttributes(OpSerialiserBase&) const {}
  virtual float getSubgraphValue() const = 0;
  float getHighSubgraphValue() const { return 1000.0f; }
  float getLowSubgraphValue() const { return 0.1f; }
  virtual bool requiresRandomSeed() const { return false; }
  virtual InIndex getSeedInIndex() const { return -1; }
  virtual bool isOutlineable() const { return true; }
  virtual bool hasSideEffect() const { return false; }
  virtual bool canRecompute() const { return true; }
  virtual bool canShard() const { return false; }
  virtual bool canBeReplacedByIdentity() const { return false; }
  virtual bool isNorm() const { return false; }
  virtual bool isLossOp() const { return false; }
  virtual bool isOptimizerOp() const { return false; }
  virtual bool isInplaceViewChange() const { return false; }
  virtual bool isOutplaceViewChange() const { return false; }
  virtual int getInBatchAxis(InIndex) const { return 0; }
  virtual int getOutBatchAxis(OutIndex) const { return 0; }
  virtual std::vector<std::tuple<OperatorIdentifier, float>> inplacePriorityDefault() const { return {}; }
  virtual std::unique_ptr<Op> getInplaceVariant(const OperatorIdentifier&) const { return nullptr; }
  virtual view::Regions modifies(InIndex) const { return {}; }
  virtual view::Regions uses(InIndex) const { return {}; }
  virtual view::Regions aliases(InIndex, OutIndex) const { return {}; }
  virtual view::RegMap fwdRegMap(InIndex, OutIndex) const { return nullptr; }
  virtual view::RegMap bwdRegMap(InIndex, OutIndex) const { return nullptr; }

  bool hasInput(InIndex i) const { return input->hasIndex(i); }
  bool hasOutput(OutIndex i) const { return output->hasIndex(i); }
  Tensor* inTensor(InIndex i) const { return input->tensor(i); }
  Tensor* outTensor(OutIndex i) const { return output->tensor(i); }
  TensorId inId(InIndex i) const { return input->id(i); }
  TensorId outId(OutIndex i) const { return output->id(i); }
  const TensorInfo& inInfo(InIndex i) const { return input->tensor(i)->info; }
  TensorInfo& inInfo(InIndex i) { return input->tensor(i)->info; }
  const TensorInfo& outInfo(OutIndex i) const { return output->tensor(i)->info; }
  TensorInfo& outInfo(OutIndex i);
  const Shape& inShape(InIndex i) const { return inInfo(i).shape(); }
  const Shape& outShape(OutIndex i) const { return outInfo(i).shape(); }
  Rank inRank(InIndex i) const { return inInfo(i).rank(); }
  Rank outRank(OutIndex i) const { return outInfo(i).rank(); }
  std::size_t inTensorCount() const { return static_cast<std::size_t>(input->n()); }
  std::size_t outTensorCount() const { return static_cast<std::size_t>(output->n()); }

  // Like npOut(), with the op's name in the error.
  Shape prettyNpOut(const Shape& a, const Shape& b) const { return npOut(a, b, debugName()); }
  TensorInfo prettyNpOut(const TensorInfo& a, const TensorInfo& b, bool checkDataType = true) const {
    return npOut(a, b, checkDataType, debugName());
  }

  __attribute__((error("PopART on the CPU has no graph of ops"))) int getIr() const;
  __attribute__((error("PopART on the CPU has no graph of ops"))) int getGraph() const;

  const std::string& name() const { return settings.name; }
  const std::string& getName() const { return settings.name; }
  std::string str() const;
  std::string debugName() const { return str(); }
  const Settings& getSettings() const { return settings; }
  Settings& getSettings() { return settings; }
  template <typename T>
  bool isConvertibleTo() const {
    return dynamic_cast<const T*>(this) != nullptr;
  }
};

}  // namespace popart
