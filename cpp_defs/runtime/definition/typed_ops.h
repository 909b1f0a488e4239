/* The completion of all ops with tensor types. */
#pragma once

#include "typed_backward.h"
#include "typed_tangent.h"

namespace pykernels {

/* Completes the ops of a registry whose arguments have types. Functions that an op sets itself stay. */
inline void CompleteTypedOps(Registry* registry) {
  using namespace ::oneflow::user_op;  // NOLINT
  for (OpRecord& op : registry->ops()) {  // also those that this loop adds
    try {
      if (!op.backward.empty()) { TypedBackward(registry, &op); }
      if (!op.tangent.empty()) { TypedTangent(registry, op); }
      if (!op.IsTyped()) { continue; }
      OpRegistry registration(&op);
      const auto typed = std::make_shared<const TypedOp>(op);
      if ((op.flags & PK_OP_INFERS_SHAPE) == 0) {
        registration.SetLogicalTensorDescInferFn([typed](InferContext* ctx) { typed->InferShapes(ctx->instance()); });
      }
      if ((op.flags & PK_OP_INFERS_DTYPE) == 0) {
        registration.SetDataTypeInferFn([typed](InferContext* ctx) { typed->InferDataTypes(ctx->instance()); });
        op.takes_complex = true;
      }
      if ((op.flags & PK_OP_HAS_SBP) == 0 && !op.split.empty()) {
        registration.SetGetSbpFn([typed](SbpContext* ctx) { typed->ListSbp(ctx); });
      }
    } catch (const Failure& failure) { op.problems.push_back(failure.what()); }
  }
}

}  // namespace pykernels
