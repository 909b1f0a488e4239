/* The macros that register ops and gradients. */
#pragma once

#include "oneflow/core/framework/user_op_grad_registry.h"
#include "oneflow/core/framework/user_op_registry.h"

namespace pykernels {

/* Add an op or a gradient to those that this shared object registers. `takes_complex`: whether the op looks at data
 * types so that it can take complex numbers. */
::oneflow::user_op::OpRegistry AddOp(const std::string& name, Where at, bool takes_complex);
::oneflow::user_op::OpGradRegistry& AddGradient(const std::string& op, Where at);

}  // namespace pykernels

/* Whether a definition names complex data types, which pykernels/define/cpp_def.py finds out. */
#ifndef PYKERNELS_NAMES_COMPLEX
#define PYKERNELS_NAMES_COMPLEX false
#endif

#define REGISTER_USER_OP(name)                                                            \
  [[maybe_unused]] static ::oneflow::user_op::OpRegistry OF_PP_CAT(pk_op_, __COUNTER__) = \
      ::pykernels::AddOp(name, PK_HERE, PYKERNELS_NAMES_COMPLEX)

#define REGISTER_CPU_ONLY_USER_OP(name) REGISTER_USER_OP(name).SupportCpuOnly()
#define REGISTER_NO_GRAD_USER_OP(name) REGISTER_USER_OP(name).NoGrad()
#define REGISTER_NO_GRAD_CPU_ONLY_USER_OP(name) REGISTER_NO_GRAD_USER_OP(name).SupportCpuOnly()

#define REGISTER_USER_OP_GRAD(name)                                                              \
  [[maybe_unused]] static ::oneflow::user_op::OpGradRegistry& OF_PP_CAT(pk_grad_, __COUNTER__) = \
      ::pykernels::AddGradient(name, PK_HERE)
