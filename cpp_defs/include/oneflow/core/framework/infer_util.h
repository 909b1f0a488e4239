/* user_op::InferContext: what functions that infer shapes and data types read and write.
 *
 * The OutputX accessors return a pointer in OneFlow up to 0.8, and a reference or a value from 0.9 on. They return a
 * Slot here, which serves as either. (The X4ArgNameAndIndex accessors, rare in 0.9, return pointers.)
 */
#ifndef ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_

#include "pykernels/definition/op_context.h"

namespace pykernels {

template<typename T>
class Slot {
 public:
  explicit Slot(T* value) : value_(value) {}
  operator T*() const { return value_; }
  operator const T&() const { return *value_; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

class ShapeSlot : public Slot<::oneflow::Shape> {
 public:
  using Slot::Slot;
  int64_t NumAxes(Where at = Where::Here()) const { return (*this)->NumAxes(at); }
  int64_t At(int64_t axis, Where at = Where::Here()) const { return (*this)->At(axis, at); }
  int64_t elem_cnt(Where at = Where::Here()) const { return (*this)->elem_cnt(at); }
  const ::oneflow::DimVector& dim_vec() const { return (*this)->dim_vec(); }
  std::string ToString() const { return (*this)->ToString(); }
};

}  // namespace pykernels

namespace oneflow {
namespace user_op {

class InferContext : public pykernels::OpContext {
 public:
  using Name = std::string;
  using Where = pykernels::Where;

  InferContext(pykernels::Instance* instance, bool leaves_data_types)
      : OpContext(instance), leaves_data_types_(leaves_data_types) {}

  /* nullptr for an optional or repeated argument that has no such tensor here. */
  TensorDesc* TensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return MayLack(name) ? FindTensor(name, index) : &Tensor(name, index, at);
  }
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const Name& name, int32_t index,
                                                      Where at = Where::Here()) const {
    return TensorDesc4ArgNameAndIndex(name, index, at);
  }
  const TensorDesc& InputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at);
  }
  TensorDesc* OutputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const {
    return TensorDesc4ArgNameAndIndex(name, index, at);
  }
  TensorDesc* MutOutputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const {
    return TensorDesc4ArgNameAndIndex(name, index, at);
  }

  Shape* Shape4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_shape();
  }
  void SetShape4ArgNameAndIndex(const Name& name, int32_t index, const Shape& shape,
                                Where at = Where::Here()) const {
    Tensor(name, index, at).set_shape(shape);
  }
  const Shape& InputShape(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).shape(at);
  }
  pykernels::ShapeSlot OutputShape(const Name& name, int32_t index, Where at = Where::Here()) const {
    return pykernels::ShapeSlot(Tensor(name, index, at).mut_shape());
  }
  Shape* MutOutputShape(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_shape();
  }
  void SetOutputShape(const Name& name, int32_t index, const Shape& shape, Where at = Where::Here()) const {
    Tensor(name, index, at).set_shape(shape);
  }

  DataType* Dtype4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_data_type();
  }
  void SetDtype4ArgNameAndIndex(const Name& name, int32_t index, DataType type,
                                Where at = Where::Here()) const {
    Tensor(name, index, at).set_data_type(type);
  }
  DataType InputDType(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).data_type();
  }
  pykernels::Slot<DataType> OutputDType(const Name& name, int32_t index, Where at = Where::Here()) const {
    return pykernels::Slot<DataType>(Tensor(name, index, at).mut_data_type());
  }
  DataType* MutOutputDType(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_data_type();
  }
  void SetOutputDType(const Name& name, int32_t index, DataType type, Where at = Where::Here()) const {
    Tensor(name, index, at).set_data_type(type);
  }

  bool* IsDynamic4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_is_dynamic();
  }
  void SetIsDynamic4ArgNameAndIndex(const Name& name, int32_t index, bool dynamic,
                                    Where at = Where::Here()) const {
    Tensor(name, index, at).set_is_dynamic(dynamic);
  }
  bool InputIsDynamic(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).is_dynamic();
  }
  pykernels::Slot<bool> OutputIsDynamic(const Name& name, int32_t index, Where at = Where::Here()) const {
    return pykernels::Slot<bool>(Tensor(name, index, at).mut_is_dynamic());
  }
  bool* MutOutputIsDynamic(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_is_dynamic();
  }
  void SetOutputIsDynamic(const Name& name, int32_t index, bool dynamic, Where at = Where::Here()) const {
    Tensor(name, index, at).set_is_dynamic(dynamic);
  }
  bool* IsTensorList4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).mut_is_tensor_list();
  }

  const Stride& InputStride(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).stride(at);
  }
  pykernels::Slot<Stride> OutputStride(const Name& name, int32_t index, Where at = Where::Here()) const {
    return pykernels::Slot<Stride>(Tensor(name, index, at).mut_stride());
  }
  void SetOutputStride(const Name& name, int32_t index, const Stride& stride,
                       Where at = Where::Here()) const {
    Tensor(name, index, at).set_stride(stride);
  }

  SbpParallel SbpParallel4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    Tensor(name, index, at);
    return SbpParallel();
  }

  /* Whether another function of the op infers data types. */
  bool LeavesDataTypes() const { return leaves_data_types_; }

 private:
  bool leaves_data_types_;
};

/* Functions to hand to SetTensorDescInferFn and SetDataTypeInferFn. */
struct TensorDescInferFnUtil {
  /* The outputs are like the first input; where there are several inputs, they are alike. */
  static Maybe<void> Unchanged(InferContext* ctx) {
    const TensorDesc& first = FirstInput(ctx);
    if (!ctx->LeavesDataTypes()) { JUST(UnchangedDataType(ctx)); }
    for (const auto& key : ctx->inputs()) {
      const TensorDesc& other = ctx->InputTensorDesc(key.first, key.second);
      if (other.shape() != first.shape()) {
        return Differ(ctx, "shape", other, other.shape(), first, first.shape());
      }
    }
    for (const auto& key : ctx->outputs()) {
      ctx->SetOutputShape(key.first, key.second, first.shape());
      ctx->SetOutputIsDynamic(key.first, key.second, first.is_dynamic());
    }
    return Maybe<void>::Ok();
  }
  static Maybe<void> UnchangedDataType(InferContext* ctx) {
    const TensorDesc& first = FirstInput(ctx);
    for (const auto& key : ctx->inputs()) {
      const TensorDesc& other = ctx->InputTensorDesc(key.first, key.second);
      if (other.data_type() != first.data_type()) {
        return Differ(ctx, "dtype", other, other.data_type(), first, first.data_type());
      }
    }
    for (const auto& key : ctx->outputs()) { ctx->SetOutputDType(key.first, key.second, first.data_type()); }
    return Maybe<void>::Ok();
  }
  /* Every output is like the input that has its number among the inputs. */
  static Maybe<void> InOutCorrespond(InferContext* ctx) {
    CHECK_EQ_OR_RETURN(ctx->inputs().size(), ctx->outputs().size());
    for (size_t i = 0; i < ctx->inputs().size(); ++i) {
      const auto& from = ctx->inputs()[i];
      const auto& to = ctx->outputs()[i];
      *ctx->OutputTensorDesc(to.first, to.second) = ctx->InputTensorDesc(from.first, from.second);
    }
    return Maybe<void>::Ok();
  }

 private:
  template<typename T>
  static Error Differ(InferContext* ctx, const char* what, const TensorDesc& other, const T& is,
                      const TensorDesc& first, const T& wanted) {
    return Error(pykernels::Message(ctx->where(), "")
                 << other.label() << " must have the " << what << " of " << first.label() << ", " << wanted
                 << ", but has " << is);
  }
  static const TensorDesc& FirstInput(InferContext* ctx) {
    if (ctx->inputs().empty()) {
      const std::string text = "op " + ctx->op_type_name() + " has no input for its outputs to be like";
      pykernels::RaiseFault() & pykernels::Message(ctx->where(), text);
    }
    return ctx->InputTensorDesc(ctx->inputs()[0].first, ctx->inputs()[0].second);
  }
};

}  // namespace user_op
}  // namespace oneflow

#endif  // ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_
