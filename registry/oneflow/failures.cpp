// Collects errors of kernels, which run after the call of their op has returned.
#include <atomic>
#include <mutex>

#include "../host/error.h"
#include "../host/mutex.h"
#include "callers.h"
#include "parts.h"

namespace pykernels::oneflow {
namespace {

struct Failure {
  std::string text;
  const void* output = nullptr;
  int64_t n_calls = 0;  // the number of calls begun before the failure
};

Mutex the_mutex;
Failure the_first;
std::atomic<size_t> the_count{0};

}  // namespace

void AddFailure(const std::string& text, const void* output) {
  std::lock_guard lock(the_mutex);
  if (the_count++ == 0) the_first = {text, output, CountCalls()};
}

std::string TakeFailures() {
  if (the_count == 0) return "";
  Failure first;
  size_t more = 0;
  {
    std::lock_guard lock(the_mutex);
    if (the_count == 0) return "";
    first = the_first;
    more = the_count - 1;
    the_count = 0;
  }
  std::string text = first.text;
  const std::string caller = first.output ? DescribeCaller(FindCaller(first.output, first.n_calls)) : "";
  if (!caller.empty()) text += Join(", at ", caller);
  if (more > 0) text += Join("\n(and ", more, more > 1 ? " more failures" : " more failure", " since)");
  return text;
}

}  // namespace pykernels::oneflow
