// What a pass of a Python operator has to fill: prepared before it, checked after it, made unusable if it fails.
#ifndef PYKERNELS_REGISTRY_MXNET_RESULTS_H_
#define PYKERNELS_REGISTRY_MXNET_RESULTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator.h"

namespace pykernels::mxnet {

enum class Pass { kForward, kBackward };

class Results {
 public:
  // `handles` and `tags` are the `n` arrays of the pass, `requests` those for its results. Keeps the results alive.
  Results(Pass pass, int n, void** handles, const int* tags, const int* requests);
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results();

  // What is not assigned is told from what is: outputs are filled with what no computation yields, gradients with zero.
  // What is to be added to is kept.
  void Prepare();

  // The memory of the results that are wanted.
  std::vector<const void*> Requested() const;

  // Lets MXNet fail whoever reads the results, with `failure` unless that is empty, or with `unassigned` and the names
  // of outputs that nothing has been assigned to. The results are then filled as FillFailed does, and those that are to
  // be added to have what they had. All that has been pushed to MXNet's engine for these arrays is done before.
  static void Conclude(std::unique_ptr<Results> results, const std::string& failure, const std::string& unassigned,
                       const std::vector<std::string>& names);

 private:
  struct Result {
    Array array;
    int request;
    std::optional<size_t> n_writes;
    std::string before;  // what is to be added to
    bool is_filled;
  };

  void CheckAndFill() const;
  bool IsUnassigned(size_t i) const;
  void FillAll() const;
  bool Overlaps(const Array& array) const;

  const Pass pass_;
  std::vector<Array> read_;
  std::vector<Result> results_;
  std::vector<NDArrayHandle> shares_;
  std::string failure_;
  std::string unassigned_;
  std::vector<std::string> names_;
};

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_RESULTS_H_
