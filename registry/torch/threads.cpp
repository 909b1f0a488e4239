#include "threads.h"

#include <unistd.h>

#include "../host/parallel.h"
#include "headers.h"

namespace pykernels::torch_ops {
namespace {

pid_t the_process = 0;

int CountThreads() {
  // A forked child lacks its parent's threads, and OpenMP would wait for them.
  return getpid() != the_process || at::in_parallel_region() ? 1 : at::get_num_threads();
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(context, static_cast<int>(i));
  });
}

}  // namespace

void UseThreads() {
  the_process = getpid();
  SetThreadPool({CountThreads, ForEach});
}

}  // namespace pykernels::torch_ops
