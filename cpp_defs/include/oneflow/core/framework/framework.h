/* OneFlow's op registration language, without OneFlow.
 *
 * A definition that includes this header registers its ops in OneFlow's language, in the form of versions 0.1 to 0.4 or
 * of 0.8 and 0.9. The registrations are recorded and read through pykernels/definition.h; OneFlow itself is not needed.
 */
#pragma once

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/maybe.h"
#include "oneflow/core/common/shape.h"
#include "oneflow/core/common/util.h"
#include "oneflow/core/framework/user_op_registry_manager.h"

// A definition may leave out `namespace oneflow`.
using namespace oneflow;  // NOLINT
