#include "dtype.h"
#include "node_types.h"

namespace popart_cpu {
namespace {

// For how many sets of input types a node caches what it runs.
constexpr std::size_t kMostPrepared = 8;

Instance MakeInstance(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info) {
  const auto source = std::make_shared<AttributeSource>();
  source->node.emplace(api, info);
  const popart::Attributes attributes(source);
  if (attributes.hasAttribute(kInstanceAttribute)) {
    return FindKept(attributes.getAttribute<int64_t>(kInstanceAttribute)).instance;
  }
  if (!variant.op) throw popart::error("the node has no attribute '{}'", kInstanceAttribute);
  const popart::Op::Settings settings;
  std::shared_ptr<const popart::Op> op =
      variant.op->make(popart::OpCreatorInfo(variant.op->opid, settings, attributes));
  source->node.reset();
  if (!op) throw popart::error("its popart::OpCreator returns no op");
  FindOpx(op->opid, variant.op->library);  // reports a missing Opx before anything runs
  return {op, variant.op->library};
}

popart::TensorInfo InfoOf(const OrtApi& api, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info;
  Check(api, api.GetTensorTypeAndShape(value, &info));
  int type;
  std::size_t rank;
  // These calls cannot fail.
  api.GetTensorElementType(info, &type);
  api.GetDimensionsCount(info, &rank);
  popart::Shape shape(rank);
  api.GetDimensions(info, shape.data(), rank);
  api.ReleaseTensorTypeAndShapeInfo(info);
  return popart::TensorInfo(FromOnnxNumber(type), shape);
}

}  // namespace

void Check(const OrtApi& api, OrtStatus* status) {
  if (!status) return;
  const std::string text = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  throw popart::error(text);
}

Node::Node(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info)
    : api_(api), variant_(variant), instance_(MakeInstance(variant, api, info)) {}

void Node::Run(OrtKernelContext* context) const {
  std::size_t n_inputs, n_outputs;
  Check(api_, api_.KernelContext_GetInputCount(context, &n_inputs));
  Check(api_, api_.KernelContext_GetOutputCount(context, &n_outputs));
  Infos infos(n_inputs);
  std::vector<const void*> inputs(n_inputs);
  for (std::size_t i = 0; i < n_inputs; ++i) {
    const OrtValue* value = nullptr;
    Check(api_, api_.KernelContext_GetInput(context, i, &value));
    if (!value) continue;
    infos[i] = InfoOf(api_, value);
    void* data;
    Check(api_, api_.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    inputs[i] = data;
  }
  const std::shared_ptr<const Prepared> prepared = Find(infos);
  if (n_outputs > prepared->outputs.size()) {
    throw popart::error("the node has {} outputs, but setup() gives {}", n_outputs, prepared->outputs.size());
  }
  std::vector<void*> outputs(prepared->outputs.size());
  for (std::size_t i = 0; i < outputs.size() && i < n_outputs; ++i) {
    const popart::Shape& shape = prepared->outputs[i].shape();
    OrtValue* value = nullptr;
    Check(api_, api_.KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value));
    if (value) Check(api_, api_.GetTensorMutableData(value, &outputs[i]));
  }
  prepared->plan.Run(inputs, outputs, [&](std::size_t n, const std::function<void(std::size_t)>& body) {
    using Body = std::function<void(std::size_t)>;
    const auto call = [](void* data, std::size_t i) { (*static_cast<const Body*>(data))(i); };
    OrtStatus* status = api_.KernelContext_ParallelFor(context, call, n, 0, const_cast<Body*>(&body));
    if (!status) return;
    // An error means that nothing has run.
    api_.ReleaseStatus(status);
    for (std::size_t i = 0; i < n; ++i) body(i);
  });
}

std::shared_ptr<const Prepared> Node::Find(const Infos& inputs) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& each : prepared_) {
    if (each.first == inputs) return each.second;
  }
  std::shared_ptr<const Prepared> made = Prepare(instance_, inputs);
  for (std::size_t i = 0; i < made->outputs.size(); ++i) {
    if (i >= variant_.outputs.size()) {
      throw popart::error("setup() gives {} outputs, but the definition has {}", made->outputs.size(),
                          variant_.outputs.size());
    }
    if (OnnxNumber(made->outputs[i].dataType()) != variant_.outputs[i]) {
      throw popart::error("setup() says that output {} is {}, but by the OpDefinition it is {}", i, made->outputs[i],
                          NumpyName(FromOnnxNumber(variant_.outputs[i])));
    }
  }
  prepared_.insert(prepared_.begin(), {inputs, made});
  if (prepared_.size() > kMostPrepared) prepared_.pop_back();
  return made;
}

}  // namespace popart_cpu
