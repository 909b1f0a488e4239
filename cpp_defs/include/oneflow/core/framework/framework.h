/* OneFlow's op registration language, stand-alone.
 *
 * A definition that includes this header registers its ops in the language of OneFlow, in the spelling of 0.1 to 0.4 as
 * well as in that of 0.8 and 0.9. What it registers is recorded and read through pykernels/definition.h; OneFlow itself
 * is not needed.
 */
#ifndef ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_
#define ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/maybe.h"
#include "oneflow/core/common/shape.h"
#include "oneflow/core/common/util.h"
#include "oneflow/core/framework/user_op_registry_manager.h"
#ifndef PYKERNELS_BOUNDARY_APART  // It is the same for all definitions, and takes as long to compile as one.
#include "pykernels/definition/boundary.h"
#endif

// A definition may leave out `namespace oneflow`.
using namespace oneflow;  // NOLINT

#endif  // ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_
