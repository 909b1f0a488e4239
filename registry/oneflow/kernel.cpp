// Runs kernels on OneFlow's CPU tensors.
#include "../host/dtype.h"
#include "../host/execute.h"
#include "blas.h"
#include "op_type.h"
#include "parts.h"
#include "worker.h"

namespace pykernels::oneflow {
namespace {

// A tensor that a kernel receives.
struct Buffer {
  pk_tensor type;
  void* data;
};

Buffer ReadBuffer(user_op::KernelComputeContext* context, const std::string& argument, const pk_tensor& blank) {
  user_op::Tensor* tensor = context->Tensor4ArgNameAndIndex(argument, blank.index);
  if (!tensor) Fail(kPykernelsError, "OneFlow gives no tensor for '", argument, "'");
  Buffer buffer{blank, tensor->mut_raw_dptr()};
  SetType(tensor->data_type(), tensor->shape_view(), &buffer.type);
  if (!buffer.data) {
    if (CountElements(buffer.type) > 0) Fail(kPykernelsError, "OneFlow gives no memory for '", argument, "'");
    buffer.data = nowhere;
  }
  return buffer;
}

std::vector<Buffer> ReadBuffers(user_op::KernelComputeContext* context, const std::vector<std::string>& arguments,
                                const Tensors& blank) {
  std::vector<Buffer> buffers;
  buffers.reserve(blank.size());
  for (size_t i = 0; i < blank.size(); ++i) buffers.push_back(ReadBuffer(context, arguments[i], blank[i]));
  return buffers;
}

std::vector<std::string> ArgumentsOf(const Tensors& blank) {
  std::vector<std::string> arguments;
  for (const pk_tensor& tensor : blank) arguments.emplace_back(tensor.argument);
  return arguments;
}

Tensors Types(const std::vector<Buffer>& buffers) {
  Tensors types;
  for (const Buffer& buffer : buffers) types.push_back(buffer.type);
  return types;
}

void RequireTypes(const Specialization& specialization, const Tensors& outputs) {
  const Instance& instance = specialization.instance();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const pk_tensor& inferred = specialization.outputs()[i];
    if (outputs[i].dtype == inferred.dtype && SameShape(outputs[i], inferred)) continue;
    Fail(kDefinitionError, "op '", instance.label(), "': OneFlow gives ", Describe(outputs[i]), " for its output '",
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
    const OneBlasThread one_blas_thread;
    RunForward(*specialization, data, targets, is_train);
  } catch (const std::exception& problem) {
    FillFailedTargets(Types(outputs), targets);
    Fail(kPykernelsError, TextOf(problem), "\ncalled in OneFlow with ", instance.DescribeInputs(types));
  }
}

class Kernel final : public user_op::OpKernel {
 public:
  explicit Kernel(const OpType& type) : type_(type) {}

  using user_op::OpKernel::Compute;
  void Compute(user_op::KernelComputeContext* context) const override {
    const Worker worker;
    try {
      const AttributesOf attributes(*context);
      const std::shared_ptr<const Use> use = FindUse(*context, attributes);
      RunOn(*use->instance, ReadBuffers(context, use->inputs, use->instance->blank_inputs()),
            ReadBuffers(context, use->outputs, use->instance->blank_outputs()), attributes.IsTrain());
    } catch (const std::exception& problem) {
      // The exception must not reach OneFlow's threads: it would end the process.
      Report(TextOf(problem), context);
    }
  }

  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }

 private:
  void Report(std::string text, user_op::KernelComputeContext* context) const {
    const std::string& caller = context->Attr<std::string>(kCaller);
    if (!caller.empty()) text += Join(", at ", caller);
    const bool is_known = !caller.empty() || type_.outputs().empty();
    AddFailure(text, is_known ? nullptr : context->Tensor4ArgNameAndIndex(type_.outputs()[0], 0));
  }

  // An instance, and the argument of each of its tensors.
  struct Use {
    std::shared_ptr<const Instance> instance;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };

  // OneFlow makes a kernel for each place where an op is called, so its use nearly always equals the last one.
  std::shared_ptr<const Use> FindUse(const user_op::KernelComputeContext& context,
                                     const AttributeSource& attributes) const {
    const std::shared_ptr<const Use> last = std::atomic_load(&last_);
    if (last && last->inputs.size() == context.inputs().size() && last->outputs.size() == context.outputs().size() &&
        HasAll(attributes, last->instance->attributes())) {
      return last;
    }
    auto instance = type_.FindInstance(type_.Count(context.inputs(), context.outputs()), attributes);
    const auto use = std::make_shared<const Use>(
        Use{instance, ArgumentsOf(instance->blank_inputs()), ArgumentsOf(instance->blank_outputs())});
    std::atomic_store(&last_, use);
    return use;
  }

  static bool HasAll(const AttributeSource& source, const std::vector<pk_attr>& attributes) {
    return std::all_of(attributes.begin(), attributes.end(),
                       [&](const pk_attr& attribute) { return source.Has(attribute); });
  }

  const OpType& type_;
  mutable std::shared_ptr<const Use> last_;
};

}  // namespace

void EnterKernel(const OpType& type) {
  auto& manager = user_op::UserOpRegistryMgr::Get();
  user_op::OpKernelRegistry registry = manager.CheckAndGetOpKernelRegistry(type.name());
  registry.SetCreateFn([&type]() -> const user_op::OpKernel* { return user_op::NewOpKernel<Kernel>(type); });
  // Match nothing else: OneFlow ends the process if this asks for an attribute that an op lacks.
  registry.SetIsMatchedHob(user_op::HobDeviceType() == of::DeviceType::kCPU);
  Check(registry.Finish());
  Check(manager.Register(registry.GetResult()));
}

}  // namespace pykernels::oneflow
