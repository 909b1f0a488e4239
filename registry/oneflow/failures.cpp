#include "failures.h"

#include <atomic>
#include <mutex>

#include "../host/error.h"

namespace pykernels::oneflow {
namespace {

std::mutex the_mutex;
std::string the_first;
std::atomic<size_t> the_count{0};

}  // namespace

void AddFailure(const std::string& text) {
  std::lock_guard<std::mutex> lock(the_mutex);
  if (the_count++ == 0) the_first = text;
}

std::string TakeFailures() {
  if (the_count == 0) return "";
  std::lock_guard<std::mutex> lock(the_mutex);
  const size_t more = the_count - 1;
  the_count = 0;
  return more ? Join(the_first, "\n(and ", more, more > 1 ? " more failures" : " more failure", " since)") : the_first;
}

}  // namespace pykernels::oneflow
