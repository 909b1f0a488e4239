#include "calls.h"

namespace pykernels::oneflow {

std::shared_ptr<of::one::UserOpExpr> MakeCall(const OpType& type, const Counts& counts,
                                              const std::vector<pk_attr>& attributes, bool is_train) {
  // Throws if there cannot be so many: OneFlow ends the process on some numbers.
  const pk_op& declared = type.declared();
  DistributeTensors(declared.inputs, declared.n_inputs, {counts.inputs, -1}, declared.name, "inputs");
  DistributeTensors(declared.outputs, declared.n_outputs, {counts.outputs, -1}, declared.name, "outputs");
  of::one::OpBuilder builder(type.name(), type.name());
  for (size_t i = 0; i < counts.inputs.size(); ++i) {
    if (counts.inputs[i] > 0) Check(builder.MaybeInput(type.inputs()[i], counts.inputs[i]));
  }
  for (size_t i = 0; i < counts.outputs.size(); ++i) {
    if (counts.outputs[i] > 0) Check(builder.MaybeOutput(type.outputs()[i], counts.outputs[i]));
  }
  for (const pk_attr& attribute : attributes) SetAttribute(attribute, &builder);
  builder.Attr<bool>(kIsTrain, is_train);
  return Get(builder.Build());
}

std::shared_ptr<of::one::TensorTuple> Call(const of::one::UserOpExpr& call, const of::one::TensorTuple& inputs) {
  if (inputs.size() != static_cast<size_t>(call.input_size())) {
    Fail("op '", call.op_type_name(), "' is called with ", inputs.size(), " tensors, not ", call.input_size());
  }
  return Get(of::one::OpInterpUtil::Dispatch<of::one::TensorTuple>(call, inputs));
}

}  // namespace pykernels::oneflow
