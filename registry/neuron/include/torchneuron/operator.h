// An operator: it calls its kernel function for tensors with data, and its shape function for all others.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/op_registration/op_registration.h>
#include <torch/library.h>

#include <cstdio>
#include <limits>
#include <sstream>
#include <tuple>
#include <utility>

#include "torchneuron/context.h"
#include "torchneuron/library_table.h"
#include "torchneuron/parameter.h"
#include "torchneuron/symbolic_shape.h"

namespace torchneuron {

inline std::string describe(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return text.str();
}

// Runs a kernel function on one core.
class CoreCall final : public Call {
 public:
  CoreCall(uint32_t cpu_id, at::Tensor& destination, const at::Tensor& shape)
      : Call(cpu_id, torchneuron_cores()), destination_(destination), shape_(shape), before_(*torchneuron_call()) {
    *torchneuron_call() = this;
  }
  ~CoreCall() override { *torchneuron_call() = before_; }

  const void* output() override {
    if (!destination_.defined()) {
      destination_ = at::empty(shape_.sizes(), shape_.options().device(at::kCPU));
      // Elements that no core writes must not look like results.
      if (destination_.is_floating_point()) { destination_.fill_(std::numeric_limits<double>::quiet_NaN()); }
      else { destination_.zero_(); }
    }
    return &destination_;
  }

  // Checks the core's memory that the kernel has not freed.
  void check_memory() const {
    for (const TcmBlock& block : blocks) {
      const std::string size = std::to_string(block.size) + " bytes";
      if (block.overrun()) { fail(block.place, "something was written behind the end of this buffer of " + size); }
      TORCH_WARN_ONCE(at_place(block.place, size + " of tcm_malloc() are not freed, which a device keeps"));
    }
  }

 private:
  at::Tensor& destination_;
  const at::Tensor& shape_;
  Call* before_;
};

// Reports forward-mode derivatives, which no operator has; without this they would silently be zeros. It runs before
// the kernels, because torch.func.jvp removes the tangents from the arguments that kernels receive.
class RefuseTangents final : public c10::OperatorKernel {
 public:
  RefuseTangents(std::string name, Place place) : name_(std::move(name)), place_(place) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    for (const c10::IValue& each : torch::jit::last(*stack, handle.schema().arguments().size())) {
      // A torch.autograd.Function that defines derivatives passes no tangents.
      if (each.isTensor() && each.toTensor()._fw_grad(0).defined()) {
        fail(place_, "operator '" + name_ + "' has no forward-mode derivative (jvp)");
      }
    }
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }

 private:
  std::string name_;
  Place place_;
};

template <typename... Parameters>
struct Operator {
  using ShapeFunction = at::Tensor (*)(Parameters...);
  using KernelFunction = at::Tensor (*)(typename Parameter<Parameters>::Passed...);
  using Arguments = std::tuple<typename Parameter<Parameters>::Stored...>;
  static constexpr auto kIndices = std::index_sequence_for<Parameters...>{};

  // Replaces the arguments on the stack by the output that `compute` returns for them.
  template <typename Compute>
  static void replace(torch::jit::Stack* stack, const Compute& compute) {
    constexpr size_t count = sizeof...(Parameters);
    Arguments arguments = take(stack->data() + stack->size() - count, kIndices);
    at::Tensor output = compute(arguments);
    torch::jit::drop(*stack, count);
    stack->emplace_back(std::move(output));
  }

  template <size_t... I>
  static Arguments take(const c10::IValue* values, std::index_sequence<I...>) {
    return Arguments(Parameter<Parameters>::from(values[I])...);
  }

  template <typename Use>
  static void for_each_tensor(Arguments& arguments, const Use& use) {
    const auto visit = [&](auto& argument) {
      if constexpr (std::is_same_v<decltype(argument), at::Tensor&>) { use(argument); }
    };
    std::apply([&](auto&... each) { (visit(each), ...); }, arguments);
  }

  // Returns the output's shape and dtype, as a tensor without data.
  template <size_t... I>
  static at::Tensor infer(ShapeFunction function, Arguments arguments, std::index_sequence<I...>, Place place) {
    // Make a tensor without data that PyTorch's modes and subclasses do not see, whatever they do with the operator.
    c10::impl::ExcludeDispatchKeyGuard plain(c10::DispatchKeySet(
        {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize}));
    at::AutoDispatchBelowADInplaceOrView no_gradients;
    const at::Tensor shape = function(static_cast<Parameters>(std::get<I>(arguments))...);
    if (!shape.defined()) { fail(place, "the shape function returns no tensor"); }
    return at::empty(shape.sizes(), at::TensorOptions().dtype(shape.dtype()).device(at::kMeta));
  }

  struct Shape : c10::OperatorKernel {
    Shape(ShapeFunction function, Place place) : function(function), place(place) {}

    void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
      replace(stack, [&](Arguments& arguments) {
        std::vector<at::Tensor*> tensors;
        for_each_tensor(arguments, [&](at::Tensor& each) { tensors.push_back(&each); });
        return infer_shape(tensors, [&] { return infer(function, arguments, kIndices, place); });
      });
    }

    ShapeFunction function;
    Place place;
  };

  struct Kernel : c10::OperatorKernel {
    Kernel(KernelFunction function, ShapeFunction shape_function, std::string name, Place place)
        : function(function), shape_function(shape_function), name(std::move(name)), place(place) {}

    void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
      // Functions that the kernel calls must not record gradients.
      at::AutoDispatchBelowADInplaceOrView no_gradients;
      replace(stack, [&](Arguments& arguments) {
        // A device has only contiguous tensors.
        for_each_tensor(arguments, [](at::Tensor& each) { each = each.contiguous(); });
        return run(arguments, kIndices);
      });
    }

    template <size_t... I>
    at::Tensor run(Arguments& arguments, std::index_sequence<I...>) const {
      Arguments without_data = arguments;
      const auto meta = at::TensorOptions().device(at::kMeta);
      for_each_tensor(without_data, [&](at::Tensor& each) { each = at::empty_like(each, meta); });
      const at::Tensor shape = infer(shape_function, std::move(without_data), kIndices, place);
      at::Tensor destination, result;
      // Run the cores one after the other: they have no defined order, so kernels cannot depend on it.
      for (uint32_t core = 0; core < torchneuron_cores(); ++core) {
        CoreCall call(core, destination, shape);
        Arguments own = arguments;  // a copy, because a function that takes tensors by value may change them
        result = function(std::get<I>(own)...);
        call.check_memory();
      }
      std::fflush(stdout);  // the kernel's output
      if (destination.defined()) { return destination; }
      if (torchneuron_cores() > 1) {
        refuse("with multicore=True it must write its output to get_dst_tensor(), which it does not ask for");
      }
      if (!result.defined()) { refuse("it returns no tensor"); }
      if (result.sizes() != shape.sizes() || result.dtype() != shape.dtype()) {
        refuse("it returns " + describe(result) + ", but the shape function says " + describe(shape));
      }
      bool is_input = false;
      for_each_tensor(arguments, [&](const at::Tensor& each) { is_input = is_input || result.is_alias_of(each); });
      return is_input ? result.clone(at::MemoryFormat::Contiguous) : result.contiguous();
    }

    [[noreturn]] void refuse(const std::string& what) const {
      fail(place, "operator '" + name + "': the kernel function is wrong: " + what);
    }

    KernelFunction function;
    ShapeFunction shape_function;
    std::string name;
    Place place;
  };
};

}  // namespace torchneuron
