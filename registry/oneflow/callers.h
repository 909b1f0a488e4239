// Records where a Python program calls ops, for errors of kernels, which run long after the call has returned.
#pragma once

#include <cstdint>
#include <string>

namespace pykernels::oneflow {

// Records the user's innermost line as the caller of this thread's next calls and returns a number for it. Needs the
// GIL.
int64_t NoteCaller();

// Returns "train.py:12, in step"; empty if there is no such caller, or too many were recorded since. Needs the GIL.
std::string DescribeCaller(int64_t caller);

// Marks files whose name begins with `folder`, and API files, as not the user's. Called before the first call.
void SetOwnFolder(const std::string& folder);

// Returns the caller of this thread's calls; -1 at first.
int64_t CurrentCaller();

// Attributes the calls in this scope to another caller: that of the op whose gradient they compute.
class CalledFor {
 public:
  explicit CalledFor(int64_t caller);
  ~CalledFor();

 private:
  int64_t before_;
};

// A call of an op by CurrentCaller. Its result is known only after it has returned.
class NotedCall {
 public:
  NotedCall();
  // `output` is the address that OneFlow passes to kernels as their first output.
  void Returned(const void* output) const;

 private:
  int64_t number_;
};

// Returns how many calls have begun.
int64_t CountCalls();

// Returns the caller of the newest of the first `n_calls` calls with this output; -1 if none, or too many were made
// since.
int64_t FindCaller(const void* output, int64_t n_calls);

}  // namespace pykernels::oneflow
