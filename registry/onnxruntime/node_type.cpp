#include "node_type.h"

#include "../host/error.h"
#include "dtype.h"
#include "node.h"

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

NodeType::NodeType(std::string domain, std::string name, std::shared_ptr<const Op> op,
                   const std::vector<std::vector<int32_t>>& dtypes)
    : domain_(std::move(domain)),
      name_(std::move(name)),
      op_(std::move(op)),
      inputs_(MakeSlots(name_, op_->declared().inputs, op_->declared().n_inputs)),
      outputs_(MakeSlots(name_, op_->declared().outputs, op_->declared().n_outputs)) {
  for (const std::vector<int32_t>& row : dtypes) {
    auto variant = std::make_unique<Variant>(*this);
    variant->inputs = DtypesOf(inputs_, row.data());
    variant->outputs = DtypesOf(outputs_, row.data() + op_->declared().n_inputs);
    variants_.push_back(std::move(variant));
  }
}

}  // namespace pykernels::onnxruntime
