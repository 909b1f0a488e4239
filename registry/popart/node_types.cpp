#include "node_types.h"

#include <map>
#include <mutex>
#include <tuple>

#include "../host/error.h"
#include "dtype.h"

namespace popart_cpu {
namespace {

// The maximum number of type combinations for which an op has one variant each.
constexpr std::size_t kMostVariants = 256;

const Variant& Cast(const OrtCustomOp* op) { return static_cast<const Variant&>(*op); }

// Runs `body` and returns what it throws as a status with the code of `kind`.
template <typename Body>
OrtStatus* Report(pykernels::Kind kind, const OrtApi& api, const Variant& variant, const Body& body) {
  const auto problem = ProblemOf(body);
  if (!problem) return nullptr;
  const std::string text = pykernels::Join(variant.domain, "::", variant.name, ": ", *problem);
  return api.CreateStatus(ORT_FAIL, pykernels::WithCode(kind, text).c_str());
}

OrtStatus* CreateNode(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
  return Report(pykernels::kDefinitionError, *api, Cast(op), [&] { *kernel = new Node(Cast(op), *api, info); });
}

OrtStatus* RunNode(void* kernel, OrtKernelContext* context) {
  const auto& node = *static_cast<const Node*>(kernel);
  return Report(pykernels::kKernelError, node.api(), node.variant(), [&] { node.Run(context); });
}

// Returns the type of an output for inputs of these types: that of an input with the same choice of types, otherwise
// the first that the output allows.
int OutputType(const popart::OpDefinition::Output& output, const std::vector<popart::OpDefinition::Input>& inputs,
               const std::vector<int>& types) {
  const auto& choice = output.supportedTensors;
  if (choice.empty()) throw popart::error("its OpDefinition has no types for output '{}'", output.name);
  for (std::size_t i = 0; i < inputs.size() && choice.size() > 1; ++i) {
    if (inputs[i].supportedTensors == choice) return types[i];
  }
  return OnnxNumber(choice[0]);
}

// Returns the inputs of nodes; the definition's last one is repeated up to the op's maximum number.
std::vector<popart::OpDefinition::Input> InputsOf(const RegisteredOp& op) {
  auto inputs = op.definition.inputs;
  const auto most = static_cast<std::size_t>(std::max(op.opid.numInputs.max, 0));
  while (!inputs.empty() && inputs.size() < most) inputs.push_back(inputs.back());
  return inputs;
}

std::vector<const Variant*> MakeVariants(const RegisteredOp& op) {
  const auto inputs = InputsOf(op);
  if (op.definition.outputs.empty()) throw popart::error("the OpDefinition of {} has no outputs", op.opid);
  std::size_t n_variants = 1;
  for (const auto& each : inputs) {
    if (each.supportedTensors.empty()) {
      throw popart::error("the OpDefinition of {} has no types for input '{}'", op.opid, each.name);
    }
    n_variants *= n_variants > kMostVariants ? 1 : each.supportedTensors.size();
  }
  // If there would be too many variants, inputs with the same choice of types share one type.
  const bool is_tied = n_variants > kMostVariants;
  const int n_required = op.opid.numInputs.max > 0 ? op.opid.numInputs.min : static_cast<int>(inputs.size());
  std::vector<const Variant*> variants;
  std::vector<std::size_t> choice(inputs.size());
  while (true) {
    std::vector<int> types, outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) types.push_back(OnnxNumber(inputs[i].supportedTensors[choice[i]]));
    for (const auto& each : op.definition.outputs) outputs.push_back(OutputType(each, inputs, types));
    bool is_wanted = true;
    for (std::size_t i = 0; i < inputs.size() && is_tied; ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        is_wanted &= types[i] == types[k] || inputs[i].supportedTensors != inputs[k].supportedTensors;
      }
    }
    if (is_wanted) {
      variants.push_back(new Variant(op.opid, &op, types, outputs, static_cast<std::size_t>(n_required)));
    }
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == inputs[i].supportedTensors.size()) choice[i++] = 0;
    if (i == choice.size()) return variants;
  }
}

std::mutex the_mutex;
std::vector<const Variant*> the_offered;

}  // namespace

Variant::Variant(const popart::OperatorIdentifier& opid, const RegisteredOp* op, std::vector<int> inputs,
                 std::vector<int> outputs, std::size_t n_required)
    : domain(opid.domain == popart::Domain::ai_onnx ? "" : opid.domain),
      name(opid.type),
      version(opid.version),
      op(op),
      inputs(std::move(inputs)),
      outputs(std::move(outputs)),
      n_required(n_required) {
  GetName = [](const OrtCustomOp* op) { return Cast(op).name.c_str(); };
  GetInputType = [](const OrtCustomOp* op, size_t i) { return Cast(op).inputs[i]; };
  GetOutputType = [](const OrtCustomOp* op, size_t i) { return Cast(op).outputs[i]; };
  GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) -> int {
    return i < Cast(op).n_required ? ORT_REQUIRED : ORT_OPTIONAL;
  };
  GetOutputCharacteristic = [](const OrtCustomOp*, size_t i) -> int { return i == 0 ? ORT_REQUIRED : ORT_OPTIONAL; };
  CreateKernelV2 = CreateNode;
  KernelComputeV2 = RunNode;
}

std::vector<const Variant*> VariantsOf(const RegisteredOp& op) {
  static auto* made = new std::map<const RegisteredOp*, std::vector<const Variant*>>;
  std::lock_guard<std::mutex> lock(the_mutex);
  const auto found = made->find(&op);
  return found != made->end() ? found->second : (*made)[&op] = MakeVariants(op);
}

const Variant* VariantOf(const popart::OperatorIdentifier& opid, const Infos& inputs, const Infos& outputs) {
  static auto* made = new std::map<std::tuple<std::string, std::string, std::vector<int>, std::vector<int>>, Variant*>;
  std::vector<int> in, out;
  // An omitted input needs a type too.
  for (const auto& each : inputs) in.push_back(each.isSet() ? OnnxNumber(each.dataType()) : 1);
  for (const auto& each : outputs) out.push_back(OnnxNumber(each.dataType()));
  std::lock_guard<std::mutex> lock(the_mutex);
  Variant*& variant = (*made)[std::make_tuple(opid.domain, opid.type, in, out)];
  if (!variant) variant = new Variant(opid, nullptr, in, out, 0);
  return variant;
}

void Offer(std::vector<const Variant*> variants) {
  std::map<std::pair<std::string, std::string>, const RegisteredOp*> owners;
  for (const Variant* each : variants) {
    const auto owner = owners.emplace(std::make_pair(each->domain, each->name), each->op).first;
    if (owner->second == each->op) continue;
    const RegisteredOp &first = *owner->second, &second = *each->op;
    throw popart::error("two ops are named {}::{}: {} of {} and {} of {}", each->domain, each->name, first.opid,
                        first.library, second.opid, second.library);
  }
  std::lock_guard<std::mutex> lock(the_mutex);
  the_offered = std::move(variants);
}

static void AddOffered(OrtSessionOptions* options, const OrtApi& api) {
  std::lock_guard<std::mutex> lock(the_mutex);
  pykernels::onnxruntime::OpsByDomain ops;
  for (const Variant* each : the_offered) ops[each->domain].push_back(each);
  Check(api, pykernels::onnxruntime::AddDomains(ops, options, api));
}

}  // namespace popart_cpu

// The function that ONNX Runtime calls in a library of custom ops.
extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  const OrtApi* api = base->GetApi(kOrtVersion);
  if (!api) {
    // Version 1 of the API suffices to report this.
    const char* what = "ops of PopART need ONNX Runtime 1.17 or newer";
    return base->GetApi(1)->CreateStatus(ORT_FAIL, pykernels::WithCode(pykernels::kLoadError, what).c_str());
  }
  const auto problem = popart_cpu::ProblemOf([&] { popart_cpu::AddOffered(options, *api); });
  if (!problem) return nullptr;
  return api->CreateStatus(ORT_FAIL, pykernels::WithCode(pykernels::kLoadError, *problem).c_str());
}
