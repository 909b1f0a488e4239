/* user_op::OpRegistry: the registration of one op type.
 *
 * Registration runs while the shared object is being loaded, when an exception would end the process. Problems are
 * therefore recorded and reported when the definition is read.
 */
#pragma once

#include "oneflow/core/framework/batch_axis_context.h"
#include "oneflow/core/framework/infer_util.h"
#include "oneflow/core/framework/sbp_context.h"
#include "oneflow/core/framework/user_op_def.h"
#include "pykernels/definition/callback.h"

namespace pykernels {
struct OpRecord;
}  // namespace pykernels

namespace oneflow {
namespace user_op {

/* Properties of one input or output of a use of an op. Only requires_grad and is_mutable of inputs are used here. */
class ArgModifier {
 public:
  bool requires_grad() const { return requires_grad_; }
  void set_requires_grad(bool requires_grad) { requires_grad_ = requires_grad; }
  bool is_mutable() const { return is_mutable_; }
  void set_is_mutable(bool is_mutable) { is_mutable_ = is_mutable; }
  void set_use_header_only(bool) {}
  void set_header_infered_before_compute(bool) {}

 private:
  bool requires_grad_ = true;
  bool is_mutable_ = false;
};
using InputArgModifier = ArgModifier;
using OutputArgModifier = ArgModifier;
using GetInputArgModifier = std::function<InputArgModifier*(const std::string&, int32_t)>;
using GetOutputArgModifier = std::function<OutputArgModifier*(const std::string&, int32_t)>;

using TensorDescInferFn = pykernels::Callback<InferContext*>;
using DataTypeInferFn = pykernels::Callback<InferContext*>;
using GetSbpFn = pykernels::Callback<SbpContext*>;
using CheckAttrFn = pykernels::Callback<const UserOpDefWrapper&, const UserOpConfWrapper&>;
using InputArgModifyFn = pykernels::Callback<const GetInputArgModifier&, const UserOpConfWrapper&>;

/* Writes what a definition registers to a record. */
class OpRegistry final {
 public:
  using Where = pykernels::Where;

  explicit OpRegistry(pykernels::OpRecord* record) : record_(record) {}

  /* With a type, such as "floating[rows, columns]", shapes and dtypes are inferred from it (docs/definitions.md). */
#define PK_ARGUMENT(prefix)                                                                                   \
  OpRegistry& prefix(const std::string& name, int32_t count = 1, Where at = Where::Here());                   \
  OpRegistry& prefix(const std::string& name, const char* type, int32_t count = 1, Where at = Where::Here()); \
  OpRegistry& prefix##WithMinimum(const std::string& name, int32_t least, Where at = Where::Here());          \
  OpRegistry& prefix##WithMinimum(const std::string& name, const char* type, int32_t least,                   \
                                  Where at = Where::Here());
  PK_ARGUMENT(Input)
  PK_ARGUMENT(OptionalInput)
  PK_ARGUMENT(Output)
  PK_ARGUMENT(OptionalOutput)
#undef PK_ARGUMENT

  template<typename T>
  OpRegistry& Attr(const std::string& name) {
    return Attribute(name, AttrTypeOf<T>::value);
  }
  template<typename T>
  OpRegistry& Attr(const std::string& name, const T& initial) {
    return Attr(name, AttrTypeOf<AttrOf<T>>::value, initial);
  }
  /* The form used by OneFlow 0.1, where the type is a value. */
  OpRegistry& Attr(const std::string& name, AttrType type) { return Attribute(name, type); }
  template<typename T>
  OpRegistry& Attr(const std::string& name, AttrType type, const T& initial) {
    const AttrOf<T>& value = initial;
    return Attribute(name, type, AttrTypeOf<AttrOf<T>>::value, &value);
  }

  /* Refuses a call unless `condition`, such as "0 <= p < 1", holds for its attributes and axes. */
  OpRegistry& Require(const std::string& condition, Where at = Where::Here());
  /* Lets the op be split over several devices along an axis that its types name, if `condition` holds. */
  OpRegistry& Split(const std::string& axis, const std::string& condition = "", Where at = Where::Here());
  /* Adds the backward op: its inputs and its gradients, as in "x, dy -> dx". A further call adds that of the backward
   * op, in which the gradient of dx is gdx: "x, dy, gdx -> gx, gdy". */
  OpRegistry& Backward(const std::string& gradient, Where at = Where::Here());
  /* Adds the op that computes the forward-mode derivative: the tangents of outputs, as in "x, y, tx -> ty". A further
   * call adds that of the backward op: "x, dy, tx, tdy -> tdx". */
  OpRegistry& Tangent(const std::string& tangent, Where at = Where::Here());

  OpRegistry& SupportCpuOnly();
  OpRegistry& NoGrad();
  OpRegistry& SetOutputBufferNum(int32_t) { return *this; }
  OpRegistry& SupportNonContiguous() { return *this; }

  /* If an op has both a logical and a physical function, the logical one is used: there is only one device here. */
  OpRegistry& SetTensorDescInferFn(const TensorDescInferFn& fn);
  OpRegistry& SetLogicalTensorDescInferFn(const TensorDescInferFn& fn);
  OpRegistry& SetPhysicalTensorDescInferFn(const TensorDescInferFn& fn);
  OpRegistry& SetDataTypeInferFn(const DataTypeInferFn& fn);
  OpRegistry& SetGetSbpFn(const GetSbpFn& fn);
  OpRegistry& SetCheckAttrFn(const CheckAttrFn& fn);
  OpRegistry& SetInputArgModifyFn(const InputArgModifyFn& fn);

  /* Accepted but not used here. */
#define PK_NOT_READ(name)        \
  template<typename Function>    \
  OpRegistry& name(Function&&) { \
    return *this;                \
  }
  PK_NOT_READ(SetBatchAxisInferFn)
  PK_NOT_READ(SetOutputArgModifyFn)
  PK_NOT_READ(SetInferOutputBlobTimeShapeFn)
  PK_NOT_READ(SetOutputBlobTimeShapeInferFn)
  PK_NOT_READ(SetInferSbpSignatureFn)
  PK_NOT_READ(SetSbpSignatureInferFn)
  PK_NOT_READ(SetNdSbpInferFn)
  PK_NOT_READ(SetParallelDistributionInferFn)
  PK_NOT_READ(SetDeviceInferFn)
  PK_NOT_READ(SetDeviceAndStreamInferFn)
  PK_NOT_READ(SetComputeComplexityFn)
  PK_NOT_READ(SetGetNdSbpSignatureListFn)
#undef PK_NOT_READ

 private:
  /* `given`: the type of `value`; without a value, the attribute has no default. */
  OpRegistry& Attribute(const std::string& name, AttrType type, AttrType given = kAtInt32, const void* value = nullptr);

  pykernels::OpRecord* record_;
};

}  // namespace user_op
}  // namespace oneflow
