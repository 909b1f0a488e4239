/* The completion of all ops with tensor types. */
#pragma once

#include "typed_backward.h"
#include "typed_tangent.h"

namespace pykernels {

void OpRecord::Infer(Instance* instance, bool with_shapes, bool with_data_types) const {
  instance->UnsetOutputs();
  InferContext context(instance, (flags & PK_OP_INFERS_DTYPE) != 0);
  if (check_attr_fn) { check_attr_fn(UserOpDefWrapper(declaration), context.user_op_conf()); }
  const TensorDescInferFn& shape_fn = logical_fn ? logical_fn : physical_fn;
  if (with_shapes && !shape_fn && typed != nullptr) {
    typed->InferShapes(instance);
  } else if (with_shapes) {
    shape_fn(&context);
  }
  if (with_data_types && data_type_fn) {
    data_type_fn(&context);
  } else if (with_data_types && typed != nullptr) {
    typed->InferDataTypes(instance);
  }
}

void OpRecord::GetSbp(SbpContext* context) const {
  if (sbp_fn) {
    sbp_fn(context);
  } else if (typed != nullptr) {
    typed->ListSbp(context);
  }
}

/* Completes the ops of a registry whose arguments have types. Functions that an op sets itself stay. */
inline void CompleteTypedOps(Registry* registry) {
  for (OpRecord& op : registry->ops()) {  // also those that this loop adds
    try {
      if (!op.backward.empty()) { new TypedBackward(registry, &op); }  // the registry refers to it
      if (!op.tangent.empty()) { TypedTangent(registry, op); }
      if (!op.IsTyped()) { continue; }
      op.typed = new TypedOp(op);
      op.takes_complex |= !op.data_type_fn;
      op.flags |= PK_OP_INFERS_SHAPE | PK_OP_INFERS_DTYPE | (op.split.empty() ? 0 : PK_OP_HAS_SBP);
    } catch (const Failure& failure) { op.problems.push_back(failure.what()); }
  }
}

}  // namespace pykernels
