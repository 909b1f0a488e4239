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
  TensorDesc* TensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const;
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at = Where::Here()) const;
  const TensorDesc& InputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const;
  TensorDesc* OutputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const;
  TensorDesc* MutOutputTensorDesc(const Name& name, int32_t index, Where at = Where::Here()) const;

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

  const Shape& InputShape(const Name& name, int32_t index, Where at = Where::Here()) const;
  DataType InputDType(const Name& name, int32_t index, Where at = Where::Here()) const;
  bool InputIsDynamic(const Name& name, int32_t index, Where at = Where::Here()) const;

  const Stride& InputStride(const Name& name, int32_t index, Where at = Where::Here()) const;
  pykernels::Slot<Stride> OutputStride(const Name& name, int32_t index, Where at = Where::Here()) const;
  void SetOutputStride(const Name& name, int32_t index, const Stride& stride, Where at = Where::Here()) const;

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
  static Maybe<void> Unchanged(InferContext* ctx);
  static Maybe<void> UnchangedDataType(InferContext* ctx);
  /* Each output has the shape and data type of the input at the same position. */
  static Maybe<void> InOutCorrespond(InferContext* ctx);
};

}  // namespace user_op
}  // namespace oneflow
