#include "in_flight.h"

#include <chrono>
#include <thread>

namespace pykernels::mxnet {
namespace {

using std::chrono::milliseconds;

// More operators are no faster, because all of them share Python's GIL.
constexpr int kMany = 8;
// How long to wait for running operators, and for expected ones.
constexpr milliseconds kPatience(1000), kShortPatience(50);
// A fraction of the time that an operator takes.
constexpr std::chrono::microseconds kPause(50);

// Atomics instead of a lock, which a fork could leave locked in the child.
std::atomic<int> n_in_flight{0};
std::atomic<int> n_expected{0};

}  // namespace

InFlight::InFlight() { ++n_in_flight; }

InFlight::~InFlight() { --n_in_flight; }

Expected::Expected() { ++n_expected; }

Expected::~Expected() { Begin(); }

void Expected::Begin() {
  if (has_begun_.exchange(true)) return;
  int n = n_expected;
  while (n > 0 && !n_expected.compare_exchange_weak(n, n - 1)) {
  }
}

void WaitForRoom() {
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
