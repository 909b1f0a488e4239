// The one name that tensor.h takes from this header, which OneFlow's wheel lacks.
#pragma once

#include <memory>

#include "oneflow/core/common/maybe.h"

namespace oneflow {
namespace one {

class Tensor;

Maybe<void> AddAccumulateFunctionNode(const std::shared_ptr<Tensor>& tensor);

}  // namespace one
}  // namespace oneflow
