// Limits the threads of the BLAS that kernels call. OneFlow runs several kernels at once on its own threads; if BLAS
// also splits each small product among many threads, it takes many times as long.
#pragma once

#include <atomic>
#include <mutex>

#include "../host/mutex.h"

namespace pykernels::oneflow {

// Get and set BLAS's number of threads for the process; null if no kernel calls BLAS, or it has no threads.
struct BlasThreads {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};

// While any of these exist, BLAS uses one thread.
class OneBlasThread {
 public:
  static void SetBlas(const BlasThreads& threads) {
    std::lock_guard lock(mutex_);
    next_ = threads;
    has_threads_ = threads.get && threads.set;
  }

  OneBlasThread() : is_counted_(has_threads_.load(std::memory_order_relaxed)) {
    if (!is_counted_) return;
    std::lock_guard lock(mutex_);
    if (n_users_++ > 0) return;
    used_ = next_;
    n_before_ = used_.get ? used_.get() : 1;
    if (n_before_ > 1) used_.set(1);
  }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
  ~OneBlasThread() {
    if (!is_counted_) return;
    std::lock_guard lock(mutex_);
    // Restore the number unless other code has changed it meanwhile.
    if (--n_users_ == 0 && n_before_ > 1 && used_.get() == 1) used_.set(n_before_);
  }

 private:
  static inline std::atomic<bool> has_threads_{false};
  static inline Mutex mutex_;
  static inline BlasThreads next_;
  static inline BlasThreads used_;  // the library in use
  static inline int n_users_ = 0;
  static inline int n_before_ = 0;  // its number of threads before the first user

  const bool is_counted_;
};

}  // namespace pykernels::oneflow
