/* user_op::SbpContext: how an op can be distributed over devices (S split, B broadcast, P partial sum). */
#pragma once

#include "pykernels/definition/op_context.h"

namespace pykernels {

/* How one signature distributes one tensor. */
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

  Self& Split(const OpArg& arg, int64_t axis) { return Add(KeyOf(arg), 'S', axis); }
  Self& Split(const std::vector<OpArg>& args, int64_t axis) { return AddAll(args, 'S', axis); }
  Self& Split(const Keys& args, int64_t axis) { return AddAll(args, 'S', axis); }

  Self& Broadcast(const OpArg& arg) { return Add(KeyOf(arg), 'B', 0); }
  Self& Broadcast(const std::vector<OpArg>& args) { return AddAll(args, 'B', 0); }
  Self& Broadcast(const Keys& args) { return AddAll(args, 'B', 0); }

  Self& PartialSum(const OpArg& arg) { return Add(KeyOf(arg), 'P', 0); }
  Self& PartialSum(const std::vector<OpArg>& args) { return AddAll(args, 'P', 0); }
  Self& PartialSum(const Keys& args) { return AddAll(args, 'P', 0); }

  void Build() {
    const int32_t number = entries_->empty() ? 0 : entries_->back().signature + 1;
    for (pykernels::SbpEntry entry : signature_) {
      entry.signature = number;
      entries_->push_back(entry);
    }
  }

 private:
  /* The last entry for a tensor wins. */
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
  template<typename Args>
  Self& AddAll(const Args& args, char kind, int64_t axis) {
    for (const auto& arg : args) { Add(KeyOf(arg), kind, axis); }
    return *this;
  }
  static pykernels::TensorKey KeyOf(const OpArg& arg) { return {arg.name(), arg.index()}; }
  static pykernels::TensorKey KeyOf(const pykernels::TensorKey& key) { return key; }

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

  /* Checks the signatures built so far against the op and returns them. */
  const std::list<pykernels::SbpEntry>& Entries(Where at) const {
    for (const pykernels::SbpEntry& entry : entries_) { Check(entry, at); }
    return entries_;
  }

 private:
  void Check(const pykernels::SbpEntry& entry, Where at) const {
    const TensorDesc& tensor = Tensor(entry.tensor.first, entry.tensor.second, at);
    if (entry.kind != 'S' || !tensor.has_shape()) { return; }
    if (entry.axis < 0 || entry.axis >= tensor.shape().NumAxes()) {
      throw pykernels::Fault(at, "an SBP signature of op " + op_type_name() + " splits " + tensor.label()
                             + " along axis " + std::to_string(entry.axis) + ", but its shape is "
                             + tensor.shape().ToString());
    }
  }

  std::list<pykernels::SbpEntry> entries_;
};

/* For SetNdSbpInferFn, which OneFlow requires of ops without inputs since 0.5; nothing calls it here. */
class InferNdSbpFnContext : public pykernels::OpContext {
 public:
  using OpContext::OpContext;
};
inline Maybe<void> InferNdSbp4SrcOp(InferNdSbpFnContext*, const SbpParallel&) { return Maybe<void>::Ok(); }

/* Ready-made functions for SetGetSbpFn. */
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
