/* Bodies of op_context.h, and of infer_util.h, sbp_context.h and user_op_def.h in oneflow/core/framework/. */
#pragma once

#include "instance.h"
#include "op_record.h"

namespace pykernels {

OpContext::OpContext(Instance* instance)
    : UserOpConfWrapper(Borrowed(instance->use())),
      instance_(instance),
      parallel_ctx_(instance->parallel_num()) {}

const std::vector<TensorKey>& OpContext::inputs() const { return instance_->inputs(); }
const std::vector<TensorKey>& OpContext::outputs() const { return instance_->outputs(); }
Where OpContext::where() const { return instance_->declaration().where; }

TensorDesc& OpContext::Tensor(const std::string& name, int32_t index, Where at) const {
  return instance_->Tensor(name, index, at);
}
TensorDesc* OpContext::FindTensor(const std::string& name, int32_t index) const {
  return instance_->FindTensor(name, index);
}
bool OpContext::MayLack(const std::string& name) const { return instance_->MayLack(name); }

}  // namespace pykernels

namespace oneflow {
namespace user_op {

const std::string& UserOpDefWrapper::name() const { return declaration_.name; }
bool UserOpDefWrapper::IsInputArgName(const std::string& name) const {
  return pykernels::FindNamed(declaration_.inputs, name) != nullptr;
}
bool UserOpDefWrapper::IsOutputArgName(const std::string& name) const {
  return pykernels::FindNamed(declaration_.outputs, name) != nullptr;
}
bool UserOpDefWrapper::IsAttrName(const std::string& name) const {
  return pykernels::FindNamed(declaration_.attributes, name) != nullptr;
}

/* ---- shapes and data types */

TensorDesc* InferContext::TensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at) const {
  return MayLack(name) ? FindTensor(name, index) : &Tensor(name, index, at);
}
const TensorDesc* InferContext::LogicalTensorDesc4ArgNameAndIndex(const Name& name, int32_t index, Where at) const {
  return TensorDesc4ArgNameAndIndex(name, index, at);
}
const TensorDesc& InferContext::InputTensorDesc(const Name& name, int32_t index, Where at) const {
  return Tensor(name, index, at);
}
TensorDesc* InferContext::OutputTensorDesc(const Name& name, int32_t index, Where at) const {
  return TensorDesc4ArgNameAndIndex(name, index, at);
}
TensorDesc* InferContext::MutOutputTensorDesc(const Name& name, int32_t index, Where at) const {
  return TensorDesc4ArgNameAndIndex(name, index, at);
}

const Shape& InferContext::InputShape(const Name& name, int32_t index, Where at) const {
  return Tensor(name, index, at).shape(at);
}
DataType InferContext::InputDType(const Name& name, int32_t index, Where at) const {
  return Tensor(name, index, at).data_type();
}
bool InferContext::InputIsDynamic(const Name& name, int32_t index, Where at) const {
  return Tensor(name, index, at).is_dynamic();
}

const Stride& InferContext::InputStride(const Name& name, int32_t index, Where at) const {
  return Tensor(name, index, at).stride(at);
}
pykernels::Slot<Stride> InferContext::OutputStride(const Name& name, int32_t index, Where at) const {
  return pykernels::Slot<Stride>(Tensor(name, index, at).mut_stride());
}
void InferContext::SetOutputStride(const Name& name, int32_t index, const Stride& stride, Where at) const {
  Tensor(name, index, at).set_stride(stride);
}

namespace {

template<typename T>
Error Differ(InferContext* ctx, const char* what, const TensorDesc& other, const T& is, const TensorDesc& first,
             const T& wanted) {
  return Error(pykernels::Message(ctx->where(), "")
               << other.label() << " must have the " << what << " of " << first.label() << ", " << wanted
               << ", but has " << is);
}

const TensorDesc& FirstInput(InferContext* ctx) {
  if (ctx->inputs().empty()) {
    throw pykernels::Fault(ctx->where(), pykernels::Joined({"op ", ctx->op_type_name(),
                                                            " has no input to take a shape or dtype from"}));
  }
  return ctx->InputTensorDesc(ctx->inputs()[0].first, ctx->inputs()[0].second);
}

}  // namespace

Maybe<void> TensorDescInferFnUtil::Unchanged(InferContext* ctx) {
  const TensorDesc& first = FirstInput(ctx);
  if (!ctx->LeavesDataTypes()) { JUST(UnchangedDataType(ctx)); }
  for (const auto& key : ctx->inputs()) {
    const TensorDesc& other = ctx->InputTensorDesc(key.first, key.second);
    if (other.shape() != first.shape()) { return Differ(ctx, "shape", other, other.shape(), first, first.shape()); }
  }
  for (const auto& key : ctx->outputs()) {
    ctx->SetOutputShape(key.first, key.second, first.shape());
    ctx->SetOutputIsDynamic(key.first, key.second, first.is_dynamic());
  }
  return Maybe<void>::Ok();
}
Maybe<void> TensorDescInferFnUtil::UnchangedDataType(InferContext* ctx) {
  const TensorDesc& first = FirstInput(ctx);
  for (const auto& key : ctx->inputs()) {
    const TensorDesc& other = ctx->InputTensorDesc(key.first, key.second);
    if (other.data_type() != first.data_type()) {
      return Differ(ctx, "dtype", other, other.data_type(), first, first.data_type());
    }
  }
  for (const auto& key : ctx->outputs()) { ctx->SetOutputDType(key.first, key.second, first.data_type()); }
  return Maybe<void>::Ok();
}
Maybe<void> TensorDescInferFnUtil::InOutCorrespond(InferContext* ctx) {
  CHECK_EQ_OR_RETURN(ctx->inputs().size(), ctx->outputs().size());
  for (size_t i = 0; i < ctx->inputs().size(); ++i) {
    const auto& from = ctx->inputs()[i];
    const auto& to = ctx->outputs()[i];
    *ctx->OutputTensorDesc(to.first, to.second) = ctx->InputTensorDesc(from.first, from.second);
  }
  return Maybe<void>::Ok();
}

/* ---- distribution */

namespace {

pykernels::TensorKey KeyOf(const OpArg& arg) { return {arg.name(), arg.index()}; }
pykernels::TensorKey KeyOf(const pykernels::TensorKey& key) { return key; }

}  // namespace

using Builder = UserOpSbpSignatureBuilder;

Builder::UserOpSbpSignatureBuilder(std::list<pykernels::SbpEntry>* entries) : entries_(entries) {}
Builder::UserOpSbpSignatureBuilder(const Builder&) = default;
Builder::~UserOpSbpSignatureBuilder() = default;

Builder& Builder::Split(const OpArg& arg, int64_t axis) { return Add(KeyOf(arg), 'S', axis); }
Builder& Builder::Split(const std::vector<OpArg>& args, int64_t axis) { return AddAll(args, 'S', axis); }
Builder& Builder::Split(const Keys& args, int64_t axis) { return AddAll(args, 'S', axis); }

Builder& Builder::Broadcast(const OpArg& arg) { return Add(KeyOf(arg), 'B', 0); }
Builder& Builder::Broadcast(const std::vector<OpArg>& args) { return AddAll(args, 'B', 0); }
Builder& Builder::Broadcast(const Keys& args) { return AddAll(args, 'B', 0); }

Builder& Builder::PartialSum(const OpArg& arg) { return Add(KeyOf(arg), 'P', 0); }
Builder& Builder::PartialSum(const std::vector<OpArg>& args) { return AddAll(args, 'P', 0); }
Builder& Builder::PartialSum(const Keys& args) { return AddAll(args, 'P', 0); }

void Builder::Build() {
  const int32_t number = entries_->empty() ? 0 : entries_->back().signature + 1;
  for (pykernels::SbpEntry entry : signature_) {
    entry.signature = number;
    entries_->push_back(entry);
  }
}

/* The last entry for a tensor wins. */
Builder& Builder::Add(const pykernels::TensorKey& tensor, char kind, int64_t axis) {
  for (pykernels::SbpEntry& entry : signature_) {
    if (entry.tensor == tensor) {
      entry = {0, tensor, kind, axis};
      return *this;
    }
  }
  const pykernels::SbpEntry added{0, tensor, kind, axis};
  signature_.push_back(added);
  return *this;
}
template<typename Args>
Builder& Builder::AddAll(const Args& args, char kind, int64_t axis) {
  for (const auto& arg : args) { Add(KeyOf(arg), kind, axis); }
  return *this;
}

const TensorDesc& SbpContextBase::LogicalTensorDesc4InputArgNameAndIndex(const std::string& name, int32_t index,
                                                                         Where at) const {
  return Tensor(name, index, at);
}

SbpContext::SbpContext(pykernels::Instance* instance) : SbpContextBase(instance) {}
SbpContext::~SbpContext() = default;

Builder SbpContext::NewBuilder() { return Builder(&entries_); }

const std::list<pykernels::SbpEntry>& SbpContext::Entries(Where at) const {
  for (const pykernels::SbpEntry& entry : entries_) { Check(entry, at); }
  return entries_;
}

void SbpContext::Check(const pykernels::SbpEntry& entry, Where at) const {
  const TensorDesc& tensor = Tensor(entry.tensor.first, entry.tensor.second, at);
  if (entry.kind != 'S' || !tensor.has_shape()) { return; }
  if (entry.axis < 0 || entry.axis >= tensor.shape().NumAxes()) {
    throw pykernels::Fault(at, pykernels::Joined({"an SBP signature of op ", op_type_name(), " splits ",
                                                  tensor.label(), " along axis ", std::to_string(entry.axis),
                                                  ", but its shape is ", tensor.shape().ToString()}));
  }
}

Maybe<void> GetSbpFnUtil::SplitForEachAxis(SbpContext* ctx) {
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

}  // namespace user_op
}  // namespace oneflow
