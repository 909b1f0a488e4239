// Limits the number of running Python operators. MXNet starts a thread with some megabytes for each and keeps it.
#pragma once

#include <atomic>

namespace pykernels::mxnet {

// Exists from the beginning to the end of a pass of a Python operator, which may end on another thread.
class InFlight {
 public:
  InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight();
};

// Counts a Python operator that has been created and whose pass usually follows.
class Expected {
 public:
  Expected();
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;
  ~Expected();

  // Marks the beginning of its first pass.
  void Begin();

 private:
  std::atomic<bool> has_begun_{false};
};

// Called before a thread creates another operator: if many operators are under way, waits for some to end, but not
// forever, because they may wait for what this thread does next.
void WaitForRoom();

}  // namespace pykernels::mxnet
