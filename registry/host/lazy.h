// A value that is made when it is first needed.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "mutex.h"

namespace pykernels {

// Safe to use from several threads at the same time.
template <typename T>
class Lazy {
 public:
  // Returns the value; `make` returns a pointer to it, at the first call.
  template <typename Make>
  const T& Get(const Make& make) const {
    {
      std::lock_guard lock(mutex_);
      if (value_) return *value_;
    }
    // Do not hold the lock: a definition written in Python waits for the GIL here.
    std::shared_ptr<const T> made = make();
    std::lock_guard lock(mutex_);
    if (!value_) value_ = std::move(made);
    return *value_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::shared_ptr<const T> value_;
};

}  // namespace pykernels
