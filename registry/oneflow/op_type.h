// An op as OneFlow knows it: registered once, permanently, under a name of its own.
#pragma once

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
  // Pairs of argument and index, in any order, as OneFlow's contexts list tensors.
  using Listed = std::vector<std::pair<std::string, int32_t>>;

  OpType(std::shared_ptr<const Op> op, std::string name);

  // Returns the type of the op that users and gradients call `name`. Loads it if necessary; throws if there is none.
  static const OpType& Find(const std::string& name);

  const Op& op() const { return *op_; }
  const pk_op& declared() const { return op_->declared(); }
  // OneFlow's name for the op. It differs from the user's name if that was already taken.
  const std::string& name() const { return name_; }
  // The names of the arguments.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  Counts Count(const Listed& inputs, const Listed& outputs) const;

  // Return the instance for these counts and attributes, with defaults for attributes not given.
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
  mutable std::vector<Known> instances_;  // newest last
};

// Registers `op`, which users and gradients call `name`, with OneFlow. An earlier op of that name stays for its
// existing users.
const OpType& EnterOp(const std::string& name, std::shared_ptr<const Op> op);

// An instance and its specialization for given tensors. The instance must outlive the specialization.
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

// Runs `body` and returns what it throws as an error of OneFlow.
template <typename Body>
of::Maybe<void> Report(const Body& body) {
  try {
    body();
    return of::Maybe<void>::Ok();
  } catch (const std::exception& problem) {
    return of::Error::RuntimeError() << TextOf(problem);
  }
}

// Throws the error of one of OneFlow's results, if there is one.
template <typename T>
void Check(const of::Maybe<T>& result) {
  if (result.IsOk()) return;
  const std::shared_ptr<const of::ErrorProto> error = result.error();
  throw Error(kPykernelsError, error->msg().empty() ? result.GetSerializedError() : error->msg());
}

// Returns the value of one of OneFlow's results, or throws its error.
template <typename T>
std::shared_ptr<T> Get(const of::Maybe<T>& result) {
  Check(result);
  return result.Data_YouAreNotAllowedToCallThisFuncOutsideThisFile();
}

}  // namespace pykernels::oneflow
