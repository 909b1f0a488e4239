/* The base class of the contexts that the functions of a definition receive. */
#pragma once

#include "oneflow/core/framework/user_op_conf.h"

namespace oneflow {

class SplitParallel {
 public:
  int64_t axis() const { PK_RAISE("a tensor on one device is not split along an axis"); }
};

/* How one tensor is distributed: always broadcast, because inference here sees a single device with whole tensors. */
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

using ::oneflow::user_op::TensorDesc;
class Instance;

class OpContext : private ::oneflow::user_op::UserOpConfWrapper {
 public:
  using Where = pykernels::Where;
  using UserOpConfWrapper::op_name, UserOpConfWrapper::op_type_name;
  using UserOpConfWrapper::has_input, UserOpConfWrapper::input, UserOpConfWrapper::input_size;
  using UserOpConfWrapper::has_output, UserOpConfWrapper::output, UserOpConfWrapper::output_size;

  explicit OpContext(Instance* instance);
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  const std::vector<TensorKey>& inputs() const;
  const std::vector<TensorKey>& outputs() const;

  template<typename T>
  const T& Attr(const std::string& name, Where at = Where::Here()) const {
    return attr<T>(name, at);
  }

  const std::string& op_loc() const { return op_name(); }
  const ::oneflow::user_op::UserOpConfWrapper& user_op_conf() const { return *this; }
  ::oneflow::DeviceType device_type() const { return ::oneflow::kCPU; }
  int64_t parallel_num() const { return parallel_ctx_.parallel_num(); }
  /* The line that registers the op. */
  Where where() const;
  const ::oneflow::ParallelContext& parallel_ctx() const { return parallel_ctx_; }
  Instance* instance() const { return instance_; }

 protected:
  TensorDesc& Tensor(const std::string& name, int32_t index, Where at) const;
  TensorDesc* FindTensor(const std::string& name, int32_t index) const;
  bool MayLack(const std::string& name) const;

 private:
  Instance* instance_;
  ::oneflow::ParallelContext parallel_ctx_;
};

}  // namespace pykernels
