// Gradients outside of graphs, and in graphs of OneFlow 0.9: calls of the planned ops, which may have gradients too.
#include <algorithm>
#include <mutex>

#include "../host/backward.h"
#include "../host/mutex.h"
#include "callers.h"
#include "calls.h"

namespace pykernels::oneflow {
namespace {

using of::one::AutogradCapturedTensor;
using of::one::Tensor;
using of::one::TensorTuple;
using TensorPtr = std::shared_ptr<Tensor>;

// For how many tensor types a gradient caches its calls.
constexpr size_t kMostCalls = 32;

// What a call saves for its gradient.
struct State final : of::one::AutoGradCaptureState {
  Prepared forward;
  TensorTuple inputs;   // null where the gradient does not depend on it
  TensorTuple outputs;  // likewise
  std::vector<bool> is_wanted;
  int64_t caller;
};

// The calls of one plan, in order.
class Calls {
 public:
  // `caller` is where the op was called, for graphs.
  Calls(const Prepared& forward, bool is_train, const std::string& caller)
      // Backward() checks the whole plan, including the types of all tensors: OneFlow would end the process on an
      // invalid one.
      : forward_(forward), plan_(forward.specialization->Backward().plan()) {
    for (const GradientPlan::Step& step : plan_.steps()) {
      callables_.push_back(std::make_unique<const Callable>(OpType::Find(step.type),
                                                            Counts{step.input_counts, step.output_counts},
                                                            step.attributes.values(), is_train, caller));
    }
  }

  const Specialization& forward() const { return *forward_.specialization; }

  void Run(const State& state, const TensorTuple& output_gradients, TensorTuple* input_gradients) const {
    const auto forward = [&](size_t i) {
      const TensorPtr& tensor = i < plan_.first_output()     ? state.inputs[i]
                                : i < plan_.first_gradient() ? state.outputs[i - plan_.first_output()]
                                                             : output_gradients[i - plan_.first_gradient()];
      if (!tensor) plan_.FailMissing(i);
      return tensor;
    };
    const auto run_step = [&](size_t at, TensorTuple* tensors) {
      const GradientPlan::Step& step = plan_.steps()[at];
      TensorTuple inputs;
      for (size_t input : step.inputs) inputs.push_back((*tensors)[input]);
      TensorTuple outputs;
      callables_[at]->Run(inputs, &outputs);
      std::copy(outputs.begin(), outputs.end(), tensors->begin() + static_cast<ptrdiff_t>(step.first_output));
    };
    // OneFlow ends the process on a gradient that it did not request.
    const auto is_wanted = [&](size_t i) { return state.is_wanted[i]; };
    const std::vector<TensorPtr> gradients = plan_.Run<TensorTuple>(is_wanted, forward, run_step);
    input_gradients->assign(gradients.begin(), gradients.end());
  }

 private:
  const Prepared forward_;
  const GradientPlan& plan_;
  std::vector<std::unique_ptr<const Callable>> callables_;
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
      const AttributesOf attributes(wrapper);
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
      FindCalls(state->forward)->Run(*state, output_gradients, input_gradients);
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

  std::shared_ptr<const Calls> FindCalls(const Prepared& forward) const {
    {
      std::lock_guard lock(mutex_);
      for (const auto& calls : calls_) {
        if (&calls->forward() == forward.specialization.get()) return calls;
      }
    }
    // Do not hold the lock: this may wait for the GIL.
    auto made = std::make_shared<const Calls>(forward, is_train_, caller_);
    std::lock_guard lock(mutex_);
    if (calls_.size() == kMostCalls) calls_.erase(calls_.begin());
    calls_.push_back(made);
    return made;
  }

  const OpType& type_;
  std::shared_ptr<const Instance> instance_;
  bool is_train_ = false;
  std::string caller_;
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Calls>> calls_;
};

}  // namespace

void EnterEagerGradient(const OpType& type) {
  if (type.op().is_declared_constant()) return;
  // An op without a gradient is registered too, to report that when its gradient is requested.
  using Factory = of::AutoRegistrationFactory<std::string, of::one::OpExprGradFunctionIf>;
  static_cast<void>(Factory::CreatorRegisterType(
      type.name(), [&type]() -> of::one::OpExprGradFunctionIf* { return new Gradient(type); }));
}

}  // namespace pykernels::oneflow
