// Python operators that MXNet has begun and not ended. It takes a thread for each, of some megabytes, and keeps that.
#ifndef PYKERNELS_REGISTRY_MXNET_IN_FLIGHT_H_
#define PYKERNELS_REGISTRY_MXNET_IN_FLIGHT_H_

#include <atomic>

namespace pykernels::mxnet {

// Lives from the begin to the end of a pass of a Python operator, which may be on another thread.
class InFlight {
 public:
  InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight();
};

// A Python operator that is made, most often for a pass that is on its way then.
class Expected {
 public:
  Expected();
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;
  ~Expected();

  // Its first pass begins.
  void Begin();

 private:
  std::atomic<bool> has_begun_{false};
};

// For a thread that is about to make another one: lets those that are on their way end first, if they are many. Does not
// wait for ever, since they may themselves wait for what the thread does next.
void WaitForRoom();

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_IN_FLIGHT_H_
