#include "threads.h"

#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "../host/parallel.h"
#include "headers.h"
#include "oneflow/core/common/singleton.h"

namespace oneflow {

// The one function that we call of a class whose header OneFlow's wheel lacks. There is one pool in a process, with a
// thread for every processor.
class ThreadPool {
 public:
  void AddWork(const std::function<void()>& work);
};

}  // namespace oneflow

namespace pykernels::oneflow {
namespace {

pid_t the_process = 0;

int CountThreads() {
  // A forked child has lost the threads of its parent.
  if (getpid() != the_process || !of::Singleton<of::ThreadPool>::Get()) return 1;
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Opens when it has been told `n` times.
class Latch {
 public:
  explicit Latch(int n) : left_(n) {}

  void Tell() {
    // Under the lock to the end: whoever waits deletes the latch.
    std::lock_guard<std::mutex> lock(mutex_);
    if (--left_ == 0) opened_.notify_all();
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  int left_;
};

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  Latch latch(n - 1);
  for (int i = 1; i < n; ++i) {
    of::Singleton<of::ThreadPool>::Get()->AddWork([&latch, run, context, i] {
      run(context, i);
      latch.Tell();
    });
  }
  run(context, 0);
  latch.Wait();
}

}  // namespace

void UseThreads() {
  the_process = getpid();
  SetThreadPool({CountThreads, ForEach});
}

}  // namespace pykernels::oneflow
