// Mutexes that stay usable across a fork. A child lacks its parent's other threads, so a mutex that one of them held
// would stay locked forever.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace pykernels {

// Python's GIL, if the process has Python.
struct Gil {
  template <typename Function>
  static Function* Find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }

  int (*check)() = Find<int()>("PyGILState_Check");
  void* (*release)() = Find<void*()>("PyEval_SaveThread");
  void (*take)(void*) = Find<void(void*)>("PyEval_RestoreThread");
};

// Counts the threads that hold mutexes of this library. A fork waits until there are none, which is soon: no thread
// that holds one waits for the GIL, compiles, or runs a kernel.
class ForkGate {
 public:
  // Lets this thread pass in a scope, even during a fork: a framework waits for its threads before it forks.
  class Pass {
   public:
    Pass() { ++depth_; }
    ~Pass() { --depth_; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
  };

  // Lets all threads pass, for a framework that ends its own threads before a fork and blocks other calls meanwhile.
  static void StayOpen() { closes_ = false; }

  static void Enter() {
    if (depth_++ > 0) return;  // otherwise the fork and this thread would wait for each other
    for (;;) {
      ++n_holders_;
      if (n_forks_ == 0) return;
      --n_holders_;
      AwaitForks();
    }
  }

  static void Leave() {
    if (--depth_ == 0) --n_holders_;
  }

 private:
  // Releases the GIL, because the forking thread may wait for it, as OneFlow's preparation for a fork does.
  static void AwaitForks() {
    void* const thread = gil_.check && gil_.check() ? gil_.release() : nullptr;
    while (n_forks_ > 0) sched_yield();
    if (thread) gil_.take(thread);
  }

  static int Watch() { return pthread_atfork(Close, Open, OpenInChild); }

  static void Close() {
    if (!closes_) return;
    ++n_forks_;
    while (n_holders_ > 0) sched_yield();
    ++depth_;  // other fork handlers may call us on this thread
  }

  static void Open() {
    if (!closes_) return;
    --depth_;
    --n_forks_;
  }

  static void OpenInChild() {
    Open();
    n_forks_ = 0;  // other threads may have been about to fork
  }

  static inline std::atomic<int> n_holders_{0};
  static inline std::atomic<int> n_forks_{0};
  static inline std::atomic<bool> closes_{true};
  static inline thread_local int depth_ = 0;
  static inline const Gil gil_;
  static inline const int watched_ = Watch();
};

template <typename Plain>
class Unforked {
 public:
  void lock() {
    ForkGate::Enter();
    plain_.lock();
  }
  void unlock() {
    plain_.unlock();
    ForkGate::Leave();
  }
  void lock_shared() {
    ForkGate::Enter();
    plain_.lock_shared();
  }
  void unlock_shared() {
    plain_.unlock_shared();
    ForkGate::Leave();
  }

 private:
  Plain plain_;
};

using Mutex = Unforked<std::mutex>;
using SharedMutex = Unforked<std::shared_mutex>;

}  // namespace pykernels
