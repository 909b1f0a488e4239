/* user_op::SbpContext: how an op can be distributed over devices (S split, B broadcast, P partial sum). */
#pragma once

#include <list>

#include "pykernels/definition/op_context.h"

namespace pykernels {
struct SbpEntry;
}  // namespace pykernels

namespace oneflow {
namespace user_op {

class UserOpSbpSignatureBuilder final {
 public:
  using Self = UserOpSbpSignatureBuilder;
  using Keys = std::vector<pykernels::TensorKey>;

  explicit UserOpSbpSignatureBuilder(std::list<pykernels::SbpEntry>* entries);
  UserOpSbpSignatureBuilder(const Self&);
  ~UserOpSbpSignatureBuilder();

  Self& Split(const OpArg& arg, int64_t axis);
  Self& Split(const std::vector<OpArg>& args, int64_t axis);
  Self& Split(const Keys& args, int64_t axis);

  Self& Broadcast(const OpArg& arg);
  Self& Broadcast(const std::vector<OpArg>& args);
  Self& Broadcast(const Keys& args);

  Self& PartialSum(const OpArg& arg);
  Self& PartialSum(const std::vector<OpArg>& args);
  Self& PartialSum(const Keys& args);

  void Build();

 private:
  Self& Add(const pykernels::TensorKey& tensor, char kind, int64_t axis);
  template<typename Args>
  Self& AddAll(const Args& args, char kind, int64_t axis);

  std::list<pykernels::SbpEntry>* entries_;
  std::list<pykernels::SbpEntry> signature_;
};

class SbpContextBase : public pykernels::OpContext {
 public:
  using OpContext::OpContext;
  using Where = pykernels::Where;

  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(const std::string& name, int32_t index,
                                                           Where at = Where::Here()) const;
};

class SbpContext : public SbpContextBase {
 public:
  explicit SbpContext(pykernels::Instance* instance);
  ~SbpContext();

  UserOpSbpSignatureBuilder NewBuilder();

  /* Checks the signatures built so far against the op and returns them. */
  const std::list<pykernels::SbpEntry>& Entries(Where at) const;

 private:
  void Check(const pykernels::SbpEntry& entry, Where at) const;

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
  static Maybe<void> SplitForEachAxis(SbpContext* ctx);
};

}  // namespace user_op
}  // namespace oneflow
