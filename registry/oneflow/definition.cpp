// Answers OneFlow's queries from a definition: dtypes and shapes of outputs, and the ways to distribute the op.
#include "../host/op.h"
#include "calls.h"
#include "op_type.h"

namespace pykernels::oneflow {
namespace {

bool HasType(const pk_tensor& tensor, const user_op::InferContext& context, const std::string& argument,
             int32_t index) {
  const of::Shape& shape = context.InputShape(argument, index);
  return tensor.dtype == context.InputDType(argument, index) && static_cast<size_t>(tensor.ndim) == shape.size() &&
         std::equal(shape.begin(), shape.end(), tensor.dims);
}

// Returns the specialization of this thread's current call if it was already made for such tensors. This runs for every
// small tensor, where allocating memory would cost more than everything else.
std::shared_ptr<const Specialization> FindRecent(const Callable& call, const user_op::InferContext& context) {
  return call.instance().FindRecent([&](const Tensors& known) {
    for (size_t i = 0; i < known.size(); ++i) {
      const auto& [argument, index] = call.inputs()[i];
      if (!HasType(known[i], context, argument, index)) return false;
    }
    return true;
  });
}

Prepared Prepare(const OpType& type, const user_op::InferContext& context) {
  const Callable* call = Callable::Running();
  if (call && &call->type() == &type) {
    std::shared_ptr<const Specialization> recent = FindRecent(*call, context);
    if (recent) return {call->shared_instance(), std::move(recent)};
  }
  const AttributesOf attributes(context);
  Prepared prepared;
  prepared.instance = type.FindInstance(type.Count(context.inputs(), context.outputs()), attributes);
  Tensors inputs = prepared.instance->blank_inputs();
  for (pk_tensor& input : inputs) {
    SetType(context.InputDType(input.argument, input.index), context.InputShape(input.argument, input.index), &input);
  }
  prepared.specialization = prepared.instance->Specialize(inputs);
  return prepared;
}

// Calls `write` with each output and its argument.
template <typename Write>
void ForEachOutput(const Prepared& prepared, const Write& write) {
  const Tensors& outputs = prepared.specialization->outputs();
  const Callable* call = Callable::Running();
  // The call already has the arguments as strings, so use those.
  const bool is_known = call && &call->instance() == prepared.instance.get();
  for (size_t i = 0; i < outputs.size(); ++i) {
    is_known ? write(call->outputs()[i].first, outputs[i]) : write(outputs[i].argument, outputs[i]);
  }
}

of::Maybe<void> InferShapes(const OpType& type, user_op::InferContext* context) {
  return Report([&] {
    const Prepared prepared = Prepare(type, *context);
    ForEachOutput(prepared, [&](const std::string& argument, const pk_tensor& output) {
      SetOutputShape(context, argument, output.index,
                     of::Shape(of::DimVector(output.dims, output.dims + output.ndim)));
    });
    // Report errors in the kernel where the op is called rather than where it runs.
    prepared.specialization->Kernel();
  });
}

of::Maybe<void> InferDtypes(const OpType& type, user_op::InferContext* context) {
  return Report([&] {
    const Prepared prepared = Prepare(type, *context);
    prepared.instance->RefuseComplex(prepared.specialization->outputs(), "OneFlow");
    ForEachOutput(prepared, [&](const std::string& argument, const pk_tensor& output) {
      SetOutputDtype(context, argument, output.index, static_cast<of::DataType>(output.dtype));
    });
  });
}

struct Distribution {
  int32_t signature;
  std::string argument;
  int32_t index;
  int32_t kind;
  int64_t axis;
};

void OnDistribution(void* user, int32_t signature, const char* argument, int32_t index, int32_t kind, int64_t axis) {
  static_cast<std::vector<Distribution>*>(user)->push_back({signature, argument, index, kind, axis});
}

void BuildSignatures(const std::vector<Distribution>& signatures, user_op::SbpContext* context) {
  for (size_t i = 0; i < signatures.size();) {
    auto builder = context->NewBuilder();
    const int32_t signature = signatures[i].signature;
    for (; i < signatures.size() && signatures[i].signature == signature; ++i) {
      const user_op::OpArg argument(std::string(signatures[i].argument), signatures[i].index);
      if (signatures[i].kind == 'S') builder.Split(argument, signatures[i].axis);
      if (signatures[i].kind == 'B') builder.Broadcast(argument);
      if (signatures[i].kind == 'P') builder.PartialSum(argument);
    }
    builder.Build();
  }
}

of::Maybe<void> ListSbp(const OpType& type, user_op::SbpContext* context) {
  // OneFlow itself adds the broadcast signature.
  if (!(type.declared().flags & PK_OP_HAS_SBP)) return of::Maybe<void>::Ok();
  return Report([&] {
    const AttributesOf attributes(*context);
    const auto instance = type.FindInstance(type.Count(context->inputs(), context->outputs()), attributes);
    Tensors inputs = instance->blank_inputs();
    for (pk_tensor& input : inputs) {
      const auto& described = context->LogicalTensorDesc4InputArgNameAndIndex(input.argument, input.index);
      SetType(described.data_type(), described.shape(), &input);
    }
    instance->Specialize(inputs);  // reports errors in the inputs; the SBP function need not
    pk_instance view = instance->View(inputs, instance->blank_outputs());
    view.parallel_num = context->parallel_num();
    std::vector<Distribution> signatures;
    type.op().ListSbp(view, OnDistribution, &signatures);
    BuildSignatures(signatures, context);
  });
}

of::Maybe<void> ModifyInputs(const OpType& type, const user_op::GetInputArgModifier& modifier,
                             const user_op::UserOpConfWrapper& conf) {
  const pk_op& declared = type.declared();
  // In a graph (only graphs have scopes), OneFlow would run an op that changes a variable after all ops that read it,
  // and so after the gradient, which must itself run after the op. Do not mark the input there: the order of the data
  // suffices, and Python checks that the state is a variable.
  const bool is_mutable = !conf.op_conf().has_scope_symbol_id();
  for (int32_t i = 0; i < declared.n_inputs; ++i) {
    if (!declared.inputs[i].is_mutable) continue;
    for (int32_t k = 0; k < conf.input_size(type.inputs()[i]); ++k) {
      user_op::InputArgModifier* input = modifier(type.inputs()[i], k);
      if (!input) return of::Error::RuntimeError() << "op '" << type.name() << "' has no input " << type.inputs()[i];
      input->set_is_mutable(is_mutable);
      input->set_requires_grad(false);
    }
  }
  return of::Maybe<void>::Ok();
}

void DeclareAttributes(const pk_op& declared, user_op::OpRegistry* registry) {
  for (int32_t i = 0; i < declared.n_attributes; ++i) {
    const pk_attribute& attribute = declared.attributes[i];
    for (const std::string& ours : {kIsTrain, kCaller}) {
      if (attribute.initial.name == ours) {
        Fail(kDefinitionError, "op '", declared.name, "': an attribute cannot be called ", ours);
      }
    }
    if (attribute.has_default) {
      SetAttribute(attribute.initial, registry);
    } else {
      VisitType(attribute.initial.type,
                [&](auto type) { registry->Attr<typename decltype(type)::type>(attribute.initial.name); });
    }
  }
  registry->Attr<bool>(kIsTrain, false);
  registry->Attr<std::string>(kCaller, "");
}

}  // namespace

void EnterDefinition(const OpType& type) {
  const pk_op& declared = type.declared();
  auto& manager = user_op::UserOpRegistryMgr::Get();
  user_op::OpRegistry registry = manager.CheckAndGetOpRegistry(type.name());
  // Our instances check how many tensors an argument stands for; OneFlow's functions that take a number are only
  // declared.
  for (int32_t i = 0; i < declared.n_inputs; ++i) {
    declared.inputs[i].optional ? registry.OptionalInput(type.inputs()[i]) : registry.Input(type.inputs()[i]);
  }
  for (int32_t i = 0; i < declared.n_outputs; ++i) {
    declared.outputs[i].optional ? registry.OptionalOutput(type.outputs()[i]) : registry.Output(type.outputs()[i]);
  }
  DeclareAttributes(declared, &registry);
  if (type.op().is_declared_constant()) registry.NoGrad();
  registry.SetLogicalTensorDescInferFn([&type](user_op::InferContext* context) { return InferShapes(type, context); });
  registry.SetDataTypeInferFn([&type](user_op::InferContext* context) { return InferDtypes(type, context); });
  registry.SetGetSbpFn([&type](user_op::SbpContext* context) { return ListSbp(type, context); });
  registry.SetInputArgModifyFn(
      [&type](const user_op::GetInputArgModifier& modifier, const user_op::UserOpConfWrapper& conf) {
        return ModifyInputs(type, modifier, conf);
      });
  Check(registry.Finish());
  Check(manager.Register(registry.GetResult()));
}

}  // namespace pykernels::oneflow
