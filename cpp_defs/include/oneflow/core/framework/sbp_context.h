/* user_op::SbpContext: the ways in which an op can be distributed (S split, B broadcast, P partial sum). */
#ifndef ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_

#include "pykernels/definition/op_context.h"

namespace pykernels {

/* How one tensor is distributed in one signature. */
struct SbpEntry {
  int32_t signature;
  TensorKey tensor;
  char kind;  // 'S', 'B' or 'P'
  int64_t axis;
};

}  // namespace pykernels

namespace oneflow {
namespace user_op {

class UserOpSbpSignatureBuilder final {
 public:
  using Self = UserOpSbpSignatureBuilder;
  using Keys = std::vector<pykernels::TensorKey>;

  explicit UserOpSbpSignatureBuilder(std::list<pykernels::SbpEntry>* entries) : entries_(entries) {}

  Self& Split(const OpArg& arg, int64_t axis) { return Add({arg.name(), arg.index()}, 'S', axis); }
  Self& Split(const std::vector<OpArg>& args, int64_t axis) { return AddArgs(args, 'S', axis); }
  Self& Split(const Keys& args, int64_t axis) { return AddKeys(args, 'S', axis); }

  Self& Broadcast(const OpArg& arg) { return Add({arg.name(), arg.index()}, 'B', 0); }
  Self& Broadcast(const std::vector<OpArg>& args) { return AddArgs(args, 'B', 0); }
  Self& Broadcast(const Keys& args) { return AddKeys(args, 'B', 0); }

  Self& PartialSum(const OpArg& arg) { return Add({arg.name(), arg.index()}, 'P', 0); }
  Self& PartialSum(const std::vector<OpArg>& args) { return AddArgs(args, 'P', 0); }
  Self& PartialSum(const Keys& args) { return AddKeys(args, 'P', 0); }

  void Build() {
    const int32_t number = entries_->empty() ? 0 : entries_->back().signature + 1;
    for (pykernels::SbpEntry entry : signature_) {
      entry.signature = number;
      entries_->push_back(entry);
    }
  }

 private:
  /* What is said of a tensor last counts. */
  Self& Add(const pykernels::TensorKey& tensor, char kind, int64_t axis) {
    for (pykernels::SbpEntry& entry : signature_) {
      if (entry.tensor == tensor) {
        entry = {0, tensor, kind, axis};
        return *this;
      }
    }
    signature_.push_back({0, tensor, kind, axis});
    return *this;
  }
  Self& AddArgs(const std::vector<OpArg>& args, char kind, int64_t axis) {
    for (const OpArg& arg : args) { Add({arg.name(), arg.index()}, kind, axis); }
    return *this;
  }
  Self& AddKeys(const Keys& args, char kind, int64_t axis) {
    for (const pykernels::TensorKey& arg : args) { Add(arg, kind, axis); }
    return *this;
  }

  std::list<pykernels::SbpEntry>* entries_;
  std::list<pykernels::SbpEntry> signature_;
};

class SbpContextBase : public pykernels::OpContext {
 public:
  using OpContext::OpContext;
  using Where = pykernels::Where;

  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(const std::string& name, int32_t index,
                                                           Where at = Where::Here()) const {
    return Tensor(name, index, at);
  }
};

class SbpContext : public SbpContextBase {
 public:
  using SbpContextBase::SbpContextBase;

  UserOpSbpSignatureBuilder NewBuilder() { return UserOpSbpSignatureBuilder(&entries_); }
  int64_t hierarchy_value() const { return parallel_num(); }

  /* What has been built so far, once all of it has been found to fit the op. */
  const std::list<pykernels::SbpEntry>& Entries(Where at) const {
    for (const pykernels::SbpEntry& entry : entries_) { Check(entry, at); }
    return entries_;
  }

 private:
  void Check(const pykernels::SbpEntry& entry, Where at) const {
    const TensorDesc& tensor = Tensor(entry.tensor.first, entry.tensor.second, at);
    if (entry.kind != 'S' || !tensor.has_shape()) { return; }
    if (entry.axis < 0 || entry.axis >= tensor.shape().NumAxes()) {
      pykernels::RaiseFault()
          & pykernels::Message(at, "an SBP signature of op " + op_type_name() + " splits " + tensor.label()
                                       + " along axis " + std::to_string(entry.axis) + ", but its shape is "
                                       + tensor.shape().ToString());
    }
  }

  std::list<pykernels::SbpEntry> entries_;
};

/* For SetNdSbpInferFn, which OneFlow from 0.5 on wants of ops without inputs; nothing calls it here. */
class InferNdSbpFnContext : public pykernels::OpContext {
 public:
  using OpContext::OpContext;
};
inline Maybe<void> InferNdSbp4SrcOp(InferNdSbpFnContext*, const SbpParallel&) {
  return Maybe<void>::Ok();
}

/* Functions to hand to SetGetSbpFn. */
struct GetSbpFnUtil {
  static Maybe<void> DefaultBroadcastToBroadcast(SbpContext*) { return Maybe<void>::Ok(); }

  /* For elementwise ops: split along any axis. */
  static Maybe<void> SplitForEachAxis(SbpContext* ctx) {
    int64_t axes = -1;
    for (const pykernels::TensorKey& key : ctx->inputs()) {
      const TensorDesc& input = ctx->LogicalTensorDesc4InputArgNameAndIndex(key.first, key.second);
      const int64_t num_axes = input.shape(ctx->where()).NumAxes();
      if (axes >= 0 && num_axes != axes) {
        return Error(pykernels::Message(ctx->where(), "")
                     << input.label() << " has " << num_axes << " axes, but the first input has " << axes);
      }
      axes = num_axes;
    }
    for (int64_t axis = 0; axis < axes; ++axis) {
      ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
    }
    return Maybe<void>::Ok();
  }
};

}  // namespace user_op
}  // namespace oneflow

#endif  // ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
