// Marks threads that OneFlow waits for, including before it forks.
#pragma once

#include "../host/mutex.h"

namespace pykernels::oneflow {

// While one exists on a thread, the thread must not wait for OneFlow, not even to collect Python's garbage.
class Worker {
 public:
  Worker() { ++depth_; }
  ~Worker() { --depth_; }

  static bool IsOnThisThread() { return depth_ > 0; }

 private:
  static thread_local inline int depth_ = 0;
  const ForkGate::Pass pass_;
};

}  // namespace pykernels::oneflow
