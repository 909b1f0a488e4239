/* A function that a definition registers. It may return nothing, or a Maybe, whose error is then thrown. */
#pragma once

#include <functional>

#include "oneflow/core/common/maybe.h"

namespace pykernels {

template<typename... Args>
class Callback {
 public:
  Callback() = default;
  template<typename Function, typename = std::enable_if_t<std::is_invocable_v<const Function&, Args...>>>
  Callback(Function function)
      : call_([function](Args... args) {
          if constexpr (std::is_void_v<std::invoke_result_t<const Function&, Args...>>) {
            function(std::forward<Args>(args)...);
          } else {
            function(std::forward<Args>(args)...).ThrowIfError();
          }
        }) {}

  explicit operator bool() const { return static_cast<bool>(call_); }
  ::oneflow::Maybe<void> operator()(Args... args) const {
    call_(std::forward<Args>(args)...);
    return ::oneflow::Maybe<void>::Ok();
  }

 private:
  std::function<void(Args...)> call_;
};

}  // namespace pykernels
