// An op as OneFlow knows it: entered once, under a name of its own, and for good.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_OP_TYPE_H_
#define PYKERNELS_REGISTRY_ONEFLOW_OP_TYPE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "../host/specialization.h"
#include "attributes.h"

namespace pykernels::oneflow {

// How many tensors each argument stands for.
struct Counts {
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;

  bool operator==(const Counts& other) const { return inputs == other.inputs && outputs == other.outputs; }
};

class OpType {
 public:
  // Arguments and indices, in any order: how OneFlow's contexts list tensors.
  using Listed = std::vector<std::pair<std::string, int32_t>>;

  OpType(std::shared_ptr<const Op> op, std::string name);

  // The type of the op that users and gradients call `name`. Loads it if need be; throws why there is none.
  static const OpType& Find(const std::string& name);

  const Op& op() const { return *op_; }
  const pk_op& declared() const { return op_->declared(); }
  // Under which OneFlow has it. It is not the one that users know if that was taken already.
  const std::string& name() const { return name_; }
  // The arguments.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  Counts Count(const Listed& inputs, const Listed& outputs) const;

  // The instance for so many tensors and these attributes; with defaults for those that are not given.
  std::shared_ptr<const Instance> FindInstance(const Counts& counts, const AttributeSource& attributes) const;
  std::shared_ptr<const Instance> FindInstance(const Counts& counts, const std::vector<pk_attr>& given) const;

 private:
  struct Known {
    Counts counts;
    std::shared_ptr<const Instance> instance;
  };
  template <typename Has>
  std::shared_ptr<const Instance> FindKnown(const Counts& counts, const Has& has) const;

  const std::shared_ptr<const Op> op_;
  const std::string name_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  mutable Mutex mutex_;
  mutable std::vector<Known> instances_;  // the newest last
};

// Enters `op`, which users and gradients call `name`, into OneFlow; one that had the name before stays for those who
// use it.
const OpType& EnterOp(const std::string& name, std::shared_ptr<const Op> op);

// What an op is to run on: an instance, and what is inferred for the tensors. The former has to outlive the latter.
struct Prepared {
  std::shared_ptr<const Instance> instance;
  std::shared_ptr<const Specialization> specialization;
};

// Sets the dtype and shape of `tensor`; `shape` is one of OneFlow's shapes or views.
template <typename Shape>
void SetType(int32_t dtype, const Shape& shape, pk_tensor* tensor) {
  if (shape.size() > PK_MAX_NDIM) {
    Fail(kCallError, "a tensor has ", shape.size(), " axes; ops take at most ", PK_MAX_NDIM);
  }
  tensor->dtype = dtype;
  tensor->ndim = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor->dims);
}

// What `body` throws as an error of OneFlow's.
template <typename Body>
of::Maybe<void> Report(const Body& body) {
  try {
    body();
    return of::Maybe<void>::Ok();
  } catch (const std::exception& problem) {
    return of::Error::RuntimeError() << TextOf(problem);
  }
}

// Throws the error of one of OneFlow's results, if it is one.
template <typename T>
void Check(const of::Maybe<T>& result) {
  if (result.IsOk()) return;
  const std::shared_ptr<const of::ErrorProto> error = result.error();
  throw Error(kPykernelsError, error->msg().empty() ? result.GetSerializedError() : error->msg());
}

// What is in one of OneFlow's results.
template <typename T>
std::shared_ptr<T> Get(const of::Maybe<T>& result) {
  Check(result);
  return result.Data_YouAreNotAllowedToCallThisFuncOutsideThisFile();
}

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_OP_TYPE_H_
