#include "in_flight.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace pykernels::mxnet {
namespace {

// All of them share Python's lock, so that more are no faster.
constexpr int kMany = 8;
constexpr std::chrono::seconds kPatience(1);
// A fraction of what an operator takes. There is no lock that a fork could leave locked in the child.
constexpr std::chrono::microseconds kPause(50);

std::atomic<int> n_in_flight{0};

}  // namespace

InFlight::InFlight() { ++n_in_flight; }

InFlight::~InFlight() { --n_in_flight; }

void WaitForRoom() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (n_in_flight >= kMany && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
}

}  // namespace pykernels::mxnet
