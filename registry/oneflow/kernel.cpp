// Runs kernels on OneFlow's CPU tensors.
#include "../host/dtype.h"
#include "../host/execute.h"
#include "failures.h"
#include "op_type.h"

namespace pykernels::oneflow {
namespace {

// Where the data of a tensor without elements is said to be.
alignas(64) char nowhere[64];

// A tensor that a kernel is given.
struct Buffer {
  pk_tensor type;
  void* data;
};

Buffer ReadBuffer(user_op::KernelComputeContext* context, const pk_tensor& blank) {
  user_op::Tensor* tensor = context->Tensor4ArgNameAndIndex(blank.argument, blank.index);
  if (!tensor) Fail("OneFlow gives no tensor for '", blank.argument, "'");
  Buffer buffer{blank, tensor->mut_raw_dptr()};
  SetType(tensor->data_type(), tensor->shape_view(), &buffer.type);
  if (!buffer.data) {
    if (CountElements(buffer.type) > 0) Fail("OneFlow gives no memory for '", blank.argument, "'");
    buffer.data = nowhere;
  }
  return buffer;
}

std::vector<Buffer> ReadBuffers(user_op::KernelComputeContext* context, const Tensors& blank) {
  std::vector<Buffer> buffers;
  for (const pk_tensor& tensor : blank) buffers.push_back(ReadBuffer(context, tensor));
  return buffers;
}

Tensors Types(const std::vector<Buffer>& buffers) {
  Tensors types;
  for (const Buffer& buffer : buffers) types.push_back(buffer.type);
  return types;
}

std::string DescribeCall(const Instance& instance, const Tensors& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += Join(i ? ", " : "", instance.input_names()[i], ": ", Describe(inputs[i]));
  }
  return text;
}

void RequireTypes(const Specialization& specialization, const Tensors& outputs) {
  const Instance& instance = specialization.instance();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const pk_tensor& inferred = specialization.outputs()[i];
    if (outputs[i].dtype == inferred.dtype && SameShape(outputs[i], inferred)) continue;
    Fail("op '", instance.label(), "': OneFlow gives ", Describe(outputs[i]), " for its output '",
         instance.output_names()[i], "', but the definition infers ", Describe(inferred),
         "; distributed over several devices, its SBP function has to fit what it infers");
  }
}

void RunOn(const Instance& instance, const std::vector<Buffer>& inputs, const std::vector<Buffer>& outputs,
           bool is_train) {
  std::vector<Target> targets;
  for (const Buffer& output : outputs) targets.push_back({output.data, Request::kWrite});
  const Tensors types = Types(inputs);
  try {
    const std::shared_ptr<const Specialization> specialization = instance.Specialize(types);
    RequireTypes(*specialization, Types(outputs));
    std::vector<const void*> data;
    for (const Buffer& input : inputs) data.push_back(input.data);
    RunForward(*specialization, data, targets, is_train);
  } catch (const std::exception& problem) {
    FillFailedTargets(Types(outputs), targets);
    Fail(problem.what(), "\ncalled in OneFlow with ", DescribeCall(instance, types));
  }
}

class Kernel final : public user_op::OpKernel {
 public:
  explicit Kernel(const OpType& type) : type_(type) {}

  using user_op::OpKernel::Compute;
  void Compute(user_op::KernelComputeContext* context) const override {
    try {
      const auto attributes = AttributesOfContext(*context);
      const auto instance = type_.FindInstance(type_.Count(context->inputs(), context->outputs()), attributes);
      RunOn(*instance, ReadBuffers(context, instance->blank_inputs()), ReadBuffers(context, instance->blank_outputs()),
            attributes.IsTrain());
    } catch (const std::exception& problem) {
      // It must not leave through OneFlow's threads, which would end the process.
      AddFailure(problem.what());
    }
  }

  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }

 private:
  const OpType& type_;
};

}  // namespace

void EnterKernel(const OpType& type) {
  auto& manager = user_op::UserOpRegistryMgr::Get();
  user_op::OpKernelRegistry registry = manager.CheckAndGetOpKernelRegistry(type.name());
  registry.SetCreateFn([&type]() -> const user_op::OpKernel* { return user_op::NewOpKernel<Kernel>(type); });
  // Nothing else to match: an op without an attribute that is asked for here ends the process.
  registry.SetIsMatchedHob(user_op::HobDeviceType() == of::DeviceType::kCPU);
  Check(registry.Finish());
  Check(manager.Register(registry.GetResult()));
}

}  // namespace pykernels::oneflow
