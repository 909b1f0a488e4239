// Gradients outside of graphs, and in those of OneFlow 0.9: calls of the planned ops, which can have gradients themselves.
#include <map>
#include <mutex>

#include "../host/mutex.h"
#include "callers.h"
#include "calls.h"
#include "gradient.h"

namespace pykernels::oneflow {
namespace {

using of::one::AutogradCapturedTensor;
using of::one::Tensor;
using of::one::TensorTuple;
using TensorPtr = std::shared_ptr<Tensor>;

// How many plans, each for tensors of certain types, a gradient remembers.
constexpr size_t kMostPlans = 32;

std::string BlobOf(char kind, const pk_tensor& tensor) { return Join(kind, "/", tensor.argument, "/", tensor.index); }

// What a call keeps for its gradient.
struct State final : of::one::AutoGradCaptureState {
  Prepared forward;
  TensorTuple inputs;   // null where the gradient does not depend on it
  TensorTuple outputs;  // the same
  std::vector<bool> is_wanted;
  int64_t caller;
};

// The calls of one plan, in order.
class Plan {
 public:
  // `caller` is where the op was called, for graphs.
  Plan(const Prepared& forward, bool is_train, const std::string& caller) : forward_(forward) {
    const PlannedGradient plan = PlanGradient(*forward.specialization, forward.instance->op().name());
    for (const PlannedOp& op : plan.ops) AddStep(op, is_train, caller);
    for (const auto& [input, blob] : plan.bindings) {
      gradients_[FindTensor(forward.instance->blank_inputs(), input.first, input.second)] = blob;
    }
  }

  const Specialization& forward() const { return *forward_.specialization; }

  void Run(const State& state, const TensorTuple& output_gradients, TensorTuple* input_gradients) const {
    const Instance& instance = *forward_.instance;
    std::map<std::string, TensorPtr> blobs;
    for (size_t i = 0; i < state.inputs.size(); ++i) blobs[BlobOf('I', instance.blank_inputs()[i])] = state.inputs[i];
    for (size_t i = 0; i < state.outputs.size(); ++i) {
      blobs[BlobOf('O', instance.blank_outputs()[i])] = state.outputs[i];
      blobs[BlobOf('D', instance.blank_outputs()[i])] = output_gradients[i];
    }
    for (const Step& step : steps_) RunStep(step, &blobs);
    input_gradients->resize(state.inputs.size());
    for (const auto& [input, blob] : gradients_) {
      // OneFlow ends the process if it is given a gradient that it does not want.
      if (state.is_wanted[input]) (*input_gradients)[input] = Read(blob, blobs);
    }
  }

 private:
  struct Step {
    std::unique_ptr<const Callable> callable;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };

  void AddStep(const PlannedOp& op, bool is_train, const std::string& caller) {
    const OpType& type = OpType::Find(op.type);
    Step step;
    Counts counts;
    for (const std::string& argument : type.inputs()) {
      const size_t before = step.inputs.size();
      for (const auto& [name, blob] : op.inputs) {
        if (name == argument) step.inputs.push_back(blob);
      }
      counts.inputs.push_back(static_cast<int32_t>(step.inputs.size() - before));
    }
    for (const std::string& argument : type.outputs()) {
      counts.outputs.push_back(0);
      for (const auto& [name, count] : op.outputs) {
        if (name != argument) continue;
        for (int32_t i = 0; i < count; ++i) step.outputs.push_back(OutputBlob(op, argument, i));
        counts.outputs.back() += count;
      }
    }
    std::vector<pk_attr> attributes;
    for (const auto& value : op.attributes) attributes.push_back(value->get());
    step.callable = std::make_unique<const Callable>(type, counts, attributes, is_train, caller);
    steps_.push_back(std::move(step));
  }

  const TensorPtr& Read(const std::string& blob, const std::map<std::string, TensorPtr>& blobs) const {
    const TensorPtr& tensor = blobs.at(blob);
    if (!tensor) {
      Fail(kPykernelsError, "the gradient of op '", forward_.instance->label(), "' needs '", blob,
           "', which was not kept");
    }
    return tensor;
  }

  void RunStep(const Step& step, std::map<std::string, TensorPtr>* blobs) const {
    TensorTuple inputs;
    for (const std::string& blob : step.inputs) inputs.push_back(Read(blob, *blobs));
    TensorTuple outputs;
    step.callable->Run(inputs, &outputs);
    for (size_t i = 0; i < step.outputs.size(); ++i) (*blobs)[step.outputs[i]] = outputs[i];
  }

  const Prepared forward_;
  std::vector<Step> steps_;
  std::map<size_t, std::string> gradients_;  // of the forward inputs that have one
};

class Gradient final : public of::one::OpExprGradFunctionIf {
 public:
  explicit Gradient(const OpType& type) : type_(type) {}

  std::shared_ptr<of::one::AutoGradCaptureState> MakeCustomState() const override {
    return std::make_shared<State>();
  }

  of::Maybe<void> Init(const of::one::OpExpr& op) override {
    return Report([&] {
      const auto& call = static_cast<const of::one::UserOpExpr&>(op);
      of::OperatorConf conf;
      conf.set_name(type_.name());
      *conf.mutable_user_conf() = call.proto();
      Check(of::AddAttrDefaultValueAndCheckValid(conf.mutable_user_conf()));
      const user_op::UserOpConfWrapper wrapper(conf);
      const auto attributes = AttributesOfWrapper(wrapper);
      instance_ = type_.FindInstance(type_.Count(call.indexed_input_pairs(), call.indexed_output_pairs()), attributes);
      is_train_ = attributes.IsTrain();
      caller_ = wrapper.attr<std::string>(kCaller);
    });
  }

  of::Maybe<void> CaptureIf(of::one::AutoGradCaptureState* kept, const TensorTuple& inputs, const TensorTuple& outputs,
                            const of::one::OpExprInterpContext& context) const override {
    return Report([&] {
      if (context.attrs.size() > 0) {
        Fail(kCallError, "op '", instance_->label(), "': attributes belong to the op, not to its call");
      }
      auto* state = static_cast<State*>(kept);
      Tensors types = instance_->blank_inputs();
      for (size_t i = 0; i < inputs.size(); ++i) {
        SetType(inputs[i]->dtype()->data_type(), *inputs[i]->shape(), &types[i]);
        state->is_wanted.push_back(inputs[i]->requires_grad());
      }
      state->caller = CurrentCaller();
      state->forward = {instance_, instance_->Specialize(types)};
      state->inputs = Keep(inputs, instance_->dependencies().inputs);
      state->outputs = Keep(outputs, instance_->dependencies().outputs);
    });
  }

  of::Maybe<void> ApplyIf(const of::one::AutoGradCaptureState* kept, const TensorTuple& output_gradients,
                          TensorTuple* input_gradients) const override {
    return Report([&] {
      const auto* state = static_cast<const State*>(kept);
      const CalledFor scope(state->caller);
      FindPlan(state->forward)->Run(*state, output_gradients, input_gradients);
    });
  }

 private:
  static TensorTuple Keep(const TensorTuple& tensors, const std::vector<bool>& is_needed) {
    TensorTuple kept(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (is_needed[i]) kept[i] = Get(AutogradCapturedTensor::MakeTensor(tensors[i]));
    }
    return kept;
  }

  std::shared_ptr<const Plan> FindPlan(const Prepared& forward) const {
    {
      std::lock_guard lock(mutex_);
      for (const auto& plan : plans_) {
        if (&plan->forward() == forward.specialization.get()) return plan;
      }
    }
    // Without the lock: this may wait for the GIL.
    auto made = std::make_shared<const Plan>(forward, is_train_, caller_);
    std::lock_guard lock(mutex_);
    if (plans_.size() == kMostPlans) plans_.erase(plans_.begin());
    plans_.push_back(made);
    return made;
  }

  const OpType& type_;
  std::shared_ptr<const Instance> instance_;
  bool is_train_ = false;
  std::string caller_;
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Plan>> plans_;
};

}  // namespace

void EnterEagerGradient(const OpType& type) {
  if (type.op().is_declared_constant()) return;
  // An op without a gradient has one here that says so when it is asked for.
  using Factory = of::AutoRegistrationFactory<std::string, of::one::OpExprGradFunctionIf>;
  static_cast<void>(Factory::CreatorRegisterType(
      type.name(), [&type]() -> of::one::OpExprGradFunctionIf* { return new Gradient(type); }));
}

}  // namespace pykernels::oneflow
