// The threads of the BLAS that kernels call. OneFlow runs kernels on threads of its own, several at once; a BLAS that
// hands each small product to many threads besides takes many times as long.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_BLAS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_BLAS_H_

namespace pykernels::oneflow {

// How its threads are counted and chosen, for the process; null if no kernel calls one, or it has none.
struct BlasThreads {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};
void SetBlasThreads(const BlasThreads& threads);

// While there are any of these, it uses one thread.
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

#endif  // PYKERNELS_REGISTRY_ONEFLOW_BLAS_H_
