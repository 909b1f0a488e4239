// The one name that tensor_impl.h takes from this header, which OneFlow's wheel lacks.
#pragma once

namespace oneflow {
namespace intrusive {

template <typename T>
class shared_ptr;

}  // namespace intrusive
}  // namespace oneflow
