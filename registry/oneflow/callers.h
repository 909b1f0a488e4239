// Where in a Python program ops are called, for the errors of kernels, which run when the call has long returned.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_CALLERS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_CALLERS_H_

#include <cstdint>
#include <string>

namespace pykernels::oneflow {

// Notes the user's innermost line as where this thread calls from, from now on, and gives a number for it. With the GIL.
int64_t NoteCaller();

// "train.py:12, in step"; empty if there is none, or too many have been noted since. With the GIL.
std::string DescribeCaller(int64_t caller);

// The files whose name begins with `folder`, and API files, are not the user's. Set before the first call.
void SetOwnFolder(const std::string& folder);

// For whom this thread is calling ops; -1 at first.
int64_t CurrentCaller();

// Calls of ops in this scope are made for another caller: that of the op whose gradient they compute.
class CalledFor {
 public:
  explicit CalledFor(int64_t caller);
  ~CalledFor();

 private:
  int64_t before_;
};

// A call of an op by CurrentCaller; whose result it is becomes known when it has returned.
class NotedCall {
 public:
  NotedCall();
  // `output` is what OneFlow's kernels are given as their first output.
  void Returned(const void* output) const;

 private:
  int64_t number_;
};

// How many calls have begun.
int64_t CountCalls();

// The caller of the newest of the first `n_calls` calls with this output; -1 if none, or too many have been made since.
int64_t FindCaller(const void* output, int64_t n_calls);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_CALLERS_H_
