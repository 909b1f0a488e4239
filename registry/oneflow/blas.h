// Limits the threads of the BLAS that kernels call. OneFlow runs several kernels at once on its own threads; if BLAS
// also splits each small product among many threads, it takes many times as long.
#pragma once

namespace pykernels::oneflow {

// Get and set BLAS's number of threads for the process; null if no kernel calls BLAS, or it has no threads.
struct BlasThreads {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};
void SetBlasThreads(const BlasThreads& threads);

// While any of these exist, BLAS uses one thread.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  bool is_counted_;
};

}  // namespace pykernels::oneflow
