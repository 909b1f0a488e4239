#include "threads.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "../host/parallel.h"

namespace pykernels::jax {
namespace {

thread_local const ffi::ThreadPool* the_threads = nullptr;

// Pieces of work that threads take one after the other.
struct Work {
  const int n;
  void (*const run)(void* context, int i);
  void* const context;
  std::atomic<int> next{0};
  std::mutex mutex;
  std::condition_variable is_done;
  int n_done = 0;

  void Help() {
    int own = 0;
    for (int i = next++; i < n; i = next++, ++own) run(context, i);
    if (own == 0) return;
    std::lock_guard lock(mutex);
    n_done += own;
    if (n_done == n) is_done.notify_one();
  }

  void Await() {
    std::unique_lock lock(mutex);
    is_done.wait(lock, [this] { return n_done == n; });
  }
};

int CountThreads() {
  // A forked child lacks its parent's threads.
  return IsForked() || !the_threads ? 1 : static_cast<int>(the_threads->num_threads());
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  // The calling thread takes pieces as well and waits only for those that others have begun. So it does not wait for
  // threads that are busy, or that wait themselves. They may find out after the end that nothing is left to do.
  auto work = std::shared_ptr<Work>(new Work{n, run, context});
  ffi::ThreadPool threads = *the_threads;
  for (int i = 1; i < n; ++i) threads.Schedule([work] { work->Help(); });
  work->Help();
  work->Await();
}

const bool threads_are_set = (SetThreadPool({CountThreads, ForEach}), true);

}  // namespace

LentThreads::LentThreads(const ffi::ThreadPool& threads) { the_threads = &threads; }

LentThreads::~LentThreads() { the_threads = nullptr; }

}  // namespace pykernels::jax
