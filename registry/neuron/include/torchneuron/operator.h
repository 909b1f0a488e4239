// An operator: its kernel function for tensors with data, its shape function for all others.
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

// A kernel function on one core.
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
      // What no core writes must not look like a result.
      if (destination_.is_floating_point()) { destination_.fill_(std::numeric_limits<double>::quiet_NaN()); }
      else { destination_.zero_(); }
    }
    return &destination_;
  }

  // What the kernel has left of the core's memory.
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

template <typename... Parameters>
struct Operator {
  using ShapeFunction = at::Tensor (*)(Parameters...);
  using KernelFunction = at::Tensor (*)(typename Parameter<Parameters>::Passed...);
  using Arguments = std::tuple<typename Parameter<Parameters>::Stored...>;
  static constexpr auto kIndices = std::index_sequence_for<Parameters...>{};

  template <size_t... I>
  static Arguments take(const c10::IValue* values, std::index_sequence<I...>) {
    return Arguments(Parameter<Parameters>::from(values[I])...);
  }

  // The output's shape and dtype, as a tensor without data.
  template <size_t... I>
  static at::Tensor infer(ShapeFunction function, Arguments arguments, std::index_sequence<I...>, Place place) {
    // A tensor without data of which PyTorch's modes and subclasses know nothing, whatever they make of the operator.
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
      constexpr size_t count = sizeof...(Parameters);
      Arguments arguments = take(stack->data() + stack->size() - count, kIndices);
      std::vector<at::Tensor*> tensors;
      std::apply([&](auto&... each) { (collect(each, tensors), ...); }, arguments);
      at::Tensor output = infer_shape(tensors, [&] { return infer(function, arguments, kIndices, place); });
      torch::jit::drop(*stack, count);
      stack->emplace_back(std::move(output));
    }

    static void collect(at::Tensor& tensor, std::vector<at::Tensor*>& tensors) { tensors.push_back(&tensor); }
    template <typename Other>
    static void collect(Other&, std::vector<at::Tensor*>&) {}

    ShapeFunction function;
    Place place;
  };

  struct Kernel : c10::OperatorKernel {
    Kernel(KernelFunction function, ShapeFunction shape_function, std::string name, Place place)
        : function(function), shape_function(shape_function), name(std::move(name)), place(place) {}

    void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
      constexpr size_t count = sizeof...(Parameters);
      // What the kernel calls must record no gradients of its own.
      at::AutoDispatchBelowADInplaceOrView no_gradients;
      Arguments arguments = take(stack->data() + stack->size() - count, kIndices);
      std::apply([&](auto&... each) { (prepare(each), ...); }, arguments);
      at::Tensor output = run(arguments, kIndices);
      torch::jit::drop(*stack, count);
      stack->emplace_back(std::move(output));
    }

    // A device has nothing but contiguous tensors.
    void prepare(at::Tensor& tensor) const { tensor = tensor.contiguous(); }
    template <typename Other>
    void prepare(Other&) const {}

    template <size_t... I>
    at::Tensor run(const Arguments& arguments, std::index_sequence<I...>) const {
      Arguments without_data = arguments;
      std::apply([](auto&... each) { (remove_data(each), ...); }, without_data);
      const at::Tensor shape = infer(shape_function, std::move(without_data), kIndices, place);
      at::Tensor destination, result;
      // One after the other: cores have no order among each other, so none can tell.
      for (uint32_t core = 0; core < torchneuron_cores(); ++core) {
        CoreCall call(core, destination, shape);
        Arguments own = arguments;  // which a function that takes tensors by value may change
        result = function(std::get<I>(own)...);
        call.check_memory();
      }
      std::fflush(stdout);  // what the kernel has printed
      if (destination.defined()) { return destination; }
      if (torchneuron_cores() > 1) {
        refuse("with multicore=True it must write its output to get_dst_tensor(), which it does not ask for");
      }
      if (!result.defined()) { refuse("it returns no tensor"); }
      if (result.sizes() != shape.sizes() || result.dtype() != shape.dtype()) {
        refuse("it returns " + describe(result) + ", but the shape function says " + describe(shape));
      }
      const bool input = std::apply([&](const auto&... each) { return (shares(result, each) || ...); }, arguments);
      return input ? result.clone(at::MemoryFormat::Contiguous) : result.contiguous();
    }

    [[noreturn]] void refuse(const std::string& what) const {
      fail(place, "operator '" + name + "': the kernel function is wrong: " + what);
    }

    static void remove_data(at::Tensor& tensor) { tensor = at::empty_like(tensor, at::TensorOptions().device(at::kMeta)); }
    template <typename Other>
    static void remove_data(Other&) {}

    static bool shares(const at::Tensor& result, const at::Tensor& argument) { return result.is_alias_of(argument); }
    template <typename Other>
    static bool shares(const at::Tensor&, const Other&) {
      return false;
    }

    KernelFunction function;
    ShapeFunction shape_function;
    std::string name;
    Place place;
  };
};

}  // namespace torchneuron
