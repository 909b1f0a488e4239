#include "node_type.h"

#include <cstdio>

#include "../host/error.h"
#include "dtype.h"
#include "node.h"
#include "values.h"

namespace pykernels::onnxruntime {
namespace {

// Returns the slots of nodes. ONNX Runtime infers no types for inputs without a slot, so a variadic argument has as
// many slots as a node can have tensors.
std::vector<Slot> MakeSlots(const std::string& name, const pk_argument* arguments, int32_t n) {
  std::vector<Slot> slots;
  int32_t open = -1;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t k = 0; k < arguments[i].count; ++k) slots.push_back({i, arguments[i].optional != 0});
    if (arguments[i].variadic) open = i;
  }
  if (slots.size() > kMostSlots) {
    Fail(kDefinitionError, "op '", name, "' has more than ", kMostSlots, " inputs or outputs");
  }
  while (open >= 0 && slots.size() < kMostSlots) slots.push_back({open, true});
  return slots;
}

std::vector<int32_t> DtypesOf(const std::vector<Slot>& slots, const int32_t* dtypes) {
  std::vector<int32_t> types;
  for (const Slot& slot : slots) types.push_back(dtypes[slot.argument]);
  return types;
}

const Variant& Cast(const OrtCustomOp* op) { return static_cast<const Variant&>(*op); }

int Characteristic(const Slot& slot) { return slot.is_optional ? ORT_OPTIONAL : ORT_REQUIRED; }

OrtStatus* CreateNode(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
  return Report(*api, [&] { *kernel = new Node(Cast(op), *api, info); });
}

OrtStatus* RunNode(void* kernel, OrtKernelContext* context) {
  const auto& node = *static_cast<const Node*>(kernel);
  return Report(node.api(), [&] { node.Run(context); });
}

}  // namespace

Variant::Variant(const NodeType& type) : type(type) {
  GetName = [](const OrtCustomOp* op) { return Cast(op).type.name().c_str(); };
  GetInputType = [](const OrtCustomOp* op, size_t i) { return DtypeToOnnx(Cast(op).inputs[i]); };
  GetOutputType = [](const OrtCustomOp* op, size_t i) { return DtypeToOnnx(Cast(op).outputs[i]); };
  GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) { return Characteristic(Cast(op).type.inputs()[i]); };
  GetOutputCharacteristic = [](const OrtCustomOp* op, size_t i) { return Characteristic(Cast(op).type.outputs()[i]); };
  CreateKernelV2 = CreateNode;
  KernelComputeV2 = RunNode;
}

NodeType::NodeType(std::string domain, std::string name, std::shared_ptr<const Op> op, const int32_t* dtypes,
                   int32_t n_rows)
    : domain_(std::move(domain)),
      name_(std::move(name)),
      op_(std::move(op)),
      inputs_(MakeSlots(name_, op_->declared().inputs, op_->declared().n_inputs)),
      outputs_(MakeSlots(name_, op_->declared().outputs, op_->declared().n_outputs)) {
  const int32_t n_inputs = op_->declared().n_inputs, width = n_inputs + op_->declared().n_outputs;
  for (int32_t row = 0; row < n_rows; ++row, dtypes += width) {
    auto variant = std::make_unique<Variant>(*this);
    variant->inputs = DtypesOf(inputs_, dtypes);
    variant->outputs = DtypesOf(outputs_, dtypes + n_inputs);
    variants_.push_back(std::move(variant));
  }
}

}  // namespace pykernels::onnxruntime

// The function that ONNX Runtime calls in a library of custom ops.
PK_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  using namespace pykernels::onnxruntime;
  const OrtApi* api = base->GetApi(kOrtVersion);
  if (!api) {
    // Version 1 of the API suffices to report this.
    const std::string what = pykernels::Join("these ops need ONNX Runtime 1.", kOrtVersion, " or newer, not ",
                                             base->GetVersionString());
    return base->GetApi(1)->CreateStatus(ORT_FAIL, pykernels::WithCode(pykernels::kLoadError, what).c_str());
  }
  return Report(*api, [&] {
    // Requesting a newer version than the library has would print to the console, so use its own version.
    unsigned minor = kOrtVersion;
    std::sscanf(base->GetVersionString(), "1.%u", &minor);
    the_ort_version = minor;
    OpsByDomain ops;
    for (const NodeType* type : OfferedTypes()) {
      for (const auto& variant : type->variants()) ops[type->domain()].push_back(variant.get());
    }
    Check(*api, AddDomains(ops, options, *api));
  });
}
