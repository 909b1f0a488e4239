// What a node runs for inputs of certain types: found again without a lock, as long as they stay the same.
#ifndef PYKERNELS_REGISTRY_ONNXRUNTIME_PREPARED_H_
#define PYKERNELS_REGISTRY_ONNXRUNTIME_PREPARED_H_

#include <atomic>
#include <memory>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "../host/specialization.h"
#include "values.h"

namespace pykernels::onnxruntime {

struct Prepared {
  std::shared_ptr<const Instance> instance;
  std::shared_ptr<const Specialization> specialization;
  const pk_kernel* kernel;
  std::vector<pk_scalar> scalars;
  struct Input {
    size_t slot;
    size_t alignment;  // that kernels want
    bool is_state;     // the kernel changes it, which here is a constant of the model
  };
  std::vector<Input> inputs;    // those that are given
  std::vector<size_t> outputs;  // slots
  int64_t n_elements;
};

class PreparedTable {
 public:
  PreparedTable(const Variant& variant, Attributes attributes);

  // What was found last, if the inputs still have those types; then their data is in `data`. Else null.
  const Prepared* FindSame(const OrtApi& api, const OrtKernelContext* context, void** data) const;

  // What it gives lives as long as the table, or as `*keep` once as much has been prepared as is remembered.
  const Prepared& Find(const Inputs& inputs, const OrtApi& api, const OrtKernelContext* context,
                       std::shared_ptr<const void>* keep) const;

 private:
  // The types of the inputs that something was prepared for.
  struct Entry {
    struct Key {
      bool is_given;
      int type;
      std::vector<int64_t> dims;
    };
    bool Serves(const Inputs& given) const;
    std::vector<Key> keys;
    // For all inputs, or for none if they cannot be checked so.
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

#endif  // PYKERNELS_REGISTRY_ONNXRUNTIME_PREPARED_H_
