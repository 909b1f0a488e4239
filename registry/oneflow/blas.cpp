#include "blas.h"

#include <atomic>
#include <mutex>

#include "../host/mutex.h"

namespace pykernels::oneflow {
namespace {

std::atomic<bool> the_blas_has_threads{false};
Mutex the_blas_mutex;
BlasThreads the_blas;  // the library in use; the next line counts its users
int the_blas_users = 0;
BlasThreads the_next_blas;
int the_blas_before = 0;  // its number of threads before the first user

}  // namespace

void SetBlasThreads(const BlasThreads& threads) {
  std::lock_guard lock(the_blas_mutex);
  the_next_blas = threads;
  the_blas_has_threads = threads.get && threads.set;
}

OneBlasThread::OneBlasThread() : is_counted_(the_blas_has_threads.load(std::memory_order_relaxed)) {
  if (!is_counted_) return;
  std::lock_guard lock(the_blas_mutex);
  if (the_blas_users++ > 0) return;
  the_blas = the_next_blas;
  the_blas_before = the_blas.get ? the_blas.get() : 1;
  if (the_blas_before > 1) the_blas.set(1);
}

OneBlasThread::~OneBlasThread() {
  if (!is_counted_) return;
  std::lock_guard lock(the_blas_mutex);
  // Restore the number unless other code has changed it meanwhile.
  if (--the_blas_users == 0 && the_blas_before > 1 && the_blas.get() == 1) the_blas.set(the_blas_before);
}

}  // namespace pykernels::oneflow
