// Limits the number of running Python operators. MXNet starts a thread with some megabytes for each and keeps it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace pykernels::mxnet {

// Atomics instead of a lock, which a fork could leave locked in the child.
inline std::atomic<int> n_in_flight{0};
inline std::atomic<int> n_expected{0};

// Exists from the beginning to the end of a pass of a Python operator, which may end on another thread.
class InFlight {
 public:
  InFlight() { ++n_in_flight; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { --n_in_flight; }
};

// Counts a Python operator that has been created and whose pass usually follows.
class Expected {
 public:
  Expected() { ++n_expected; }
  ~Expected() { Begin(); }

  // Marks the beginning of its first pass.
  void Begin() {
    if (has_begun_.exchange(true)) return;
    int n = n_expected;
    while (n > 0 && !n_expected.compare_exchange_weak(n, n - 1)) {
    }
  }

 private:
  std::atomic<bool> has_begun_{false};
};

// Called before a thread creates another operator: if many operators are under way, waits for some to end, but not
// forever, because they may wait for what this thread does next.
inline void WaitForRoom() {
  using std::chrono::milliseconds;
  constexpr int kMany = 8;  // more operators are no faster, because all of them share Python's GIL
  // How long to wait for running operators, and for expected ones.
  constexpr milliseconds kPatience(1000), kShortPatience(50);
  constexpr std::chrono::microseconds kPause(50);  // a fraction of the time that an operator takes
  const auto begin = std::chrono::steady_clock::now();
  while (n_in_flight + n_expected >= kMany) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    // Expected operators of a graph that is only bound may never run.
    if (waited > kShortPatience && n_in_flight < kMany) n_expected = 0;
    if (waited > kPatience) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace pykernels::mxnet
