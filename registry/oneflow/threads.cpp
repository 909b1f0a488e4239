// Runs loops on OneFlow's own threads.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "../host/parallel.h"
#include "headers.h"
#include "parts.h"
#include "oneflow/core/common/singleton.h"

namespace oneflow {

// Declares the one function that we call, because OneFlow's wheel lacks the class's header. A process has one pool,
// with a thread for every processor.
class ThreadPool {
 public:
  void AddWork(const std::function<void()>& work);
};

}  // namespace oneflow

namespace pykernels::oneflow {
namespace {

int CountThreads() {
  // A forked child lacks its parent's threads.
  if (IsForked() || !of::Singleton<of::ThreadPool>::Get()) return 1;
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Pieces of work that threads take one by one, so that a thread that starts late on a busy machine does not delay the
// others.
class Pieces {
 public:
  Pieces(int n, void (*run)(void* context, int i), void* context) : n_(n), left_(n), run_(run), context_(context) {}

  // Runs pieces until all have been taken.
  void Work() {
    for (int i = next_++; i < n_; i = next_++) {
      run_(context_, i);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--left_ == 0) done_.notify_all();
    }
  }

  // Waits until all pieces have run.
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  const int n_;
  std::atomic<int> next_{0};
  std::mutex mutex_;
  std::condition_variable done_;
  int left_;
  void (*const run_)(void* context, int i);
  void* const context_;
};

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  // Shared, because a thread may start after all work is done.
  const auto pieces = std::make_shared<Pieces>(n, run, context);
  for (int i = 1; i < n; ++i) of::Singleton<of::ThreadPool>::Get()->AddWork([pieces] { pieces->Work(); });
  pieces->Work();
  pieces->Wait();
}

}  // namespace

void UseThreads() { SetThreadPool({CountThreads, ForEach}); }

}  // namespace pykernels::oneflow
