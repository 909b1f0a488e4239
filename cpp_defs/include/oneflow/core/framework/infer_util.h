/* user_op::InferContext: the context of functions that infer shapes and data types.
 *
 * The OutputX accessors return a pointer in OneFlow up to 0.8, and a reference or a value since 0.9. Here they return a
 * Slot, which can be used as either. (The X4ArgNameAndIndex accessors, rare in 0.9, return pointers.)
 */
#pragma once

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

  InferContext(pykernels::Instance* instance, bool leaves_data_types)
      : OpContext(instance), leaves_data_types_(leaves_data_types) {}

  /* Returns nullptr if an optional or repeated argument has no such tensor in this use of the op. */
  TensorDesc* TensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    return MayLack(name) ? FindTensor(name, index) : &Tensor(name, index, at);
  }
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
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

  /* Each property, in the spellings of all versions. */
#define PK_PROPERTY(Old, New, Type, Slot, property)                                                           \
  Type* Old##4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {              \
    return Tensor(name, index, at).mut_##property();                                                          \
  }                                                                                                           \
  void Set##Old##4ArgNameAndIndex(const Name& name, int32_t index, const Type& value,                         \
                                  Where at = Where::Here()) const {                                           \
    Tensor(name, index, at).set_##property(value);                                                            \
  }                                                                                                           \
  pykernels::Slot Output##New(const Name& name, int32_t index, Where at = Where::Here()) const {              \
    return pykernels::Slot(Tensor(name, index, at).mut_##property());                                         \
  }                                                                                                           \
  Type* MutOutput##New(const Name& name, int32_t index, Where at = Where::Here()) const {                     \
    return Tensor(name, index, at).mut_##property();                                                          \
  }                                                                                                           \
  void SetOutput##New(const Name& name, int32_t index, const Type& value, Where at = Where::Here()) const {   \
    Tensor(name, index, at).set_##property(value);                                                            \
  }
  PK_PROPERTY(Shape, Shape, Shape, ShapeSlot, shape)
  PK_PROPERTY(Dtype, DType, DataType, Slot<DataType>, data_type)
  PK_PROPERTY(IsDynamic, IsDynamic, bool, Slot<bool>, is_dynamic)
#undef PK_PROPERTY

  const Shape& InputShape(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).shape(at);
  }
  DataType InputDType(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).data_type();
  }
  bool InputIsDynamic(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).is_dynamic();
  }

  const Stride& InputStride(const Name& name, int32_t index, Where at = Where::Here()) const {
    return Tensor(name, index, at).stride(at);
  }
  pykernels::Slot<Stride> OutputStride(const Name& name, int32_t index, Where at = Where::Here()) const {
    return pykernels::Slot<Stride>(Tensor(name, index, at).mut_stride());
  }
  void SetOutputStride(const Name& name, int32_t index, const Stride& stride, Where at = Where::Here()) const {
    Tensor(name, index, at).set_stride(stride);
  }

  SbpParallel SbpParallel4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const {
    Tensor(name, index, at);
    return SbpParallel();
  }

  /* Whether a separate function of the op infers data types. */
  bool LeavesDataTypes() const { return leaves_data_types_; }

 private:
  bool leaves_data_types_;
};

/* Ready-made functions for SetTensorDescInferFn and SetDataTypeInferFn. */
struct TensorDescInferFnUtil {
  /* Every output has the shape and data type of the first input; all inputs must agree. */
  static Maybe<void> Unchanged(InferContext* ctx) {
    const TensorDesc& first = FirstInput(ctx);
    if (!ctx->LeavesDataTypes()) { JUST(UnchangedDataType(ctx)); }
    for (const auto& key : ctx->inputs()) {
      const TensorDesc& other = ctx->InputTensorDesc(key.first, key.second);
      if (other.shape() != first.shape()) { return Differ(ctx, "shape", other, other.shape(), first, first.shape()); }
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
  /* Each output has the shape and data type of the input at the same position. */
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
      throw pykernels::Fault(ctx->where(), "op " + ctx->op_type_name() + " has no input to take a shape or dtype from");
    }
    return ctx->InputTensorDesc(ctx->inputs()[0].first, ctx->inputs()[0].second);
  }
};

}  // namespace user_op
}  // namespace oneflow
