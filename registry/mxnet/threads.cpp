#include "threads.h"

#include <unistd.h>

#include "../host/parallel.h"

namespace pykernels::mxnet {
namespace {

ThreadSymbols the_threads{};
pid_t the_process = 0;

int CountThreads() {
  // A forked child lacks its parent's threads, and OpenMP does not notice.
  if (getpid() != the_process) return 1;
  return the_threads.GetRecommendedThreadCount(the_threads.GetOpenMP(), true);
}

struct Loop {
  int n;
  void (*run)(void* context, int i);
  void* context;
};

// Runs the calling thread's share of the work; the team may be smaller than requested.
void RunShare(void* data) {
  const auto& loop = *static_cast<const Loop*>(data);
  for (int i = the_threads.GetThreadNumber(); i < loop.n; i += the_threads.GetTeamSize()) loop.run(loop.context, i);
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  Loop loop{n, run, context};
  the_threads.GompParallel(RunShare, &loop, static_cast<unsigned>(n), 0);
}

}  // namespace

void UseThreads(const ThreadSymbols& symbols) {
  the_threads = symbols;
  the_process = getpid();
  SetThreadPool({CountThreads, ForEach});
}

}  // namespace pykernels::mxnet
