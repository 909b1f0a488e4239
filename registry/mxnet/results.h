// The results of a pass of a Python operator: prepared before it, checked after it, and marked broken if it fails.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator.h"

namespace pykernels::mxnet {

class Results {
 public:
  // `handles` and `tags` are the `n` arrays of the pass; `requests` are for its results. Keeps the results alive.
  Results(Pass pass, int n, void** handles, const int* tags, const int* requests);

  // Prepares the results so that unassigned ones can be detected: fills outputs with a value that no computation
  // yields, and gradients with zero. Saves results that are added to.
  void Prepare();

  // Returns the memory of the requested results.
  std::vector<const void*> Requested() const;

  // Ends a pass. If it failed, later reads of the results fail with `failure`, or, if that is empty, with `unassigned`
  // and the names of outputs that were not assigned. Failed results are filled by FillFailed; arrays that results are
  // added to get back their earlier values. All work already pushed to MXNet's engine for these arrays finishes first.
  static void Conclude(std::unique_ptr<Results> results, const std::string& failure, const std::string& unassigned,
                       const std::vector<std::string>& names);

 private:
  struct Result {
    Array array;
    int request;
    std::optional<size_t> n_writes;
    std::string before;  // the array's earlier value, if the result is added to it
    bool is_filled;
  };

  void CheckAndFill() const;
  bool IsUnassigned(size_t i) const;
  // Returns whether no result is left to check, although assignments may still be running.
  bool AreAssigned() const;
  void FillAll() const;
  bool Overlaps(const Array& array) const;

  const Pass pass_;
  std::vector<Array> read_;
  std::vector<Result> results_;
  std::vector<OwnedArray> shares_;
  std::string failure_;
  std::string unassigned_;
  std::vector<std::string> names_;
};

}  // namespace pykernels::mxnet
