// Prepares the call of a node for given input types and finds it again without a lock while the types stay the same.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "../host/specialization.h"
#include "values.h"

namespace pykernels::onnxruntime {

// A kernel with everything that a call needs besides the tensors.
struct Prepared {
  std::shared_ptr<const Instance> instance;
  std::shared_ptr<const Specialization> specialization;
  const pk_kernel* kernel;
  std::vector<pk_scalar> scalars;
  struct Input {
    size_t slot;
    size_t alignment;  // that kernels require
    bool is_state;     // changed by the kernel; here a constant of the model
  };
  std::vector<Input> inputs;    // those that are given
  std::vector<size_t> outputs;  // slots
  int64_t n_elements;
};

class PreparedTable {
 public:
  PreparedTable(const Variant& variant, Attributes attributes);

  // Returns the last prepared call if the inputs still have its types, with their data in `data`; otherwise null.
  const Prepared* FindSame(const OrtApi& api, const OrtKernelContext* context, void** data) const;

  // Returns the prepared call. It lives as long as the table, or as `*keep` once the cache is full.
  const Prepared& Find(const Inputs& inputs, const OrtApi& api, const OrtKernelContext* context,
                       std::shared_ptr<const void>* keep) const;

 private:
  // A prepared call with its input types.
  struct Entry {
    struct Key {
      bool is_given;
      int type;
      std::vector<int64_t> dims;
    };
    bool Serves(const Inputs& given) const;
    std::vector<Key> keys;
    // for all inputs, or for none if some cannot be checked in this way
    std::vector<ShapeCheck> checks;
    Prepared prepared;
  };

  std::shared_ptr<const Entry> Make(const Inputs& inputs, size_t n_outputs) const;
  std::shared_ptr<const Instance> FindInstance(const std::vector<int32_t>& inputs,
                                               const std::vector<int32_t>& outputs) const;
  std::vector<ShapeCheck> MakeChecks(const Inputs& inputs) const;
  void RequireTypes(const Specialization& specialization, const std::vector<size_t>& slots) const;

  const Variant& variant_;
  const std::string label_;
  const Attributes attributes_;
  mutable std::atomic<const Entry*> latest_{nullptr};
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Entry>> entries_;
  mutable std::vector<std::shared_ptr<const Instance>> instances_;
};

}  // namespace pykernels::onnxruntime
