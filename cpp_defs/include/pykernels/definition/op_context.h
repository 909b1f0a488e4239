/* What all the contexts that a definition's functions are handed have in common. */
#ifndef PYKERNELS_DEFINITION_OP_CONTEXT_H_
#define PYKERNELS_DEFINITION_OP_CONTEXT_H_

#include "oneflow/core/framework/user_op_conf.h"

namespace oneflow {

class SplitParallel {
 public:
  int64_t axis() const { PK_RAISE("a tensor on one device is not split along an axis"); }
};

/* How one tensor is distributed. On the one device of a definition it is whole, which is what broadcast says. */
class SbpParallel {
 public:
  bool has_split_parallel() const { return false; }
  bool has_broadcast_parallel() const { return true; }
  bool has_partial_sum_parallel() const { return false; }
  SplitParallel split_parallel() const { return SplitParallel(); }
  SbpParallel* mutable_split_parallel() { return this; }
  SbpParallel* mutable_broadcast_parallel() { return this; }
  void set_axis(int64_t) {}
  std::string DebugString() const { return "B"; }
};
namespace cfg {
using ::oneflow::SbpParallel;
}  // namespace cfg

class ParallelContext {
 public:
  explicit ParallelContext(int64_t parallel_num) : parallel_num_(parallel_num) {}
  int64_t parallel_id() const { return 0; }
  int64_t parallel_num() const { return parallel_num_; }

 private:
  int64_t parallel_num_;
};

}  // namespace oneflow

namespace pykernels {

class OpContext {
 public:
  explicit OpContext(Instance* instance)
      : instance_(instance),
        conf_(std::shared_ptr<const OpUse>(std::shared_ptr<void>(), &instance->use())),
        parallel_ctx_(instance->parallel_num()) {}
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  const std::vector<TensorKey>& inputs() const { return instance_->inputs(); }
  const std::vector<TensorKey>& outputs() const { return instance_->outputs(); }
  const std::string& input(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return conf_.input(name, index, at);
  }
  const std::string& output(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return conf_.output(name, index, at);
  }
  bool has_input(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return conf_.has_input(name, index, at);
  }
  bool has_output(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return conf_.has_output(name, index, at);
  }
  int32_t input_size(const std::string& name, Where at = Where::Here()) const {
    return conf_.input_size(name, at);
  }
  int32_t output_size(const std::string& name, Where at = Where::Here()) const {
    return conf_.output_size(name, at);
  }

  template<typename T>
  const T& Attr(const std::string& name, Where at = Where::Here()) const {
    return conf_.attr<T>(name, at);
  }

  const std::string& op_name() const { return conf_.op_name(); }
  const std::string& op_type_name() const { return conf_.op_type_name(); }
  const std::string& op_loc() const { return conf_.op_name(); }
  const ::oneflow::user_op::UserOpConfWrapper& user_op_conf() const { return conf_; }
  ::oneflow::DeviceType device_type() const { return ::oneflow::kCPU; }
  int64_t parallel_num() const { return instance_->parallel_num(); }
  /* Where the op is registered. */
  Where where() const { return instance_->declaration().where; }
  const ::oneflow::ParallelContext& parallel_ctx() const { return parallel_ctx_; }

 protected:
  TensorDesc& Tensor(const std::string& name, int32_t index, Where at) const {
    return instance_->Tensor(name, index, at);
  }
  TensorDesc* FindTensor(const std::string& name, int32_t index) const {
    return instance_->FindTensor(name, index);
  }
  bool MayLack(const std::string& name) const { return instance_->MayLack(name); }

 private:
  Instance* instance_;
  ::oneflow::user_op::UserOpConfWrapper conf_;
  ::oneflow::ParallelContext parallel_ctx_;
};

}  // namespace pykernels

#endif  // PYKERNELS_DEFINITION_OP_CONTEXT_H_
