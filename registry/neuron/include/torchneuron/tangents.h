// Reports forward-mode derivatives, which no operator has; without this they would silently be zeros.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/core/stack.h>

#include <string>
#include <utility>

#include "torchneuron/place.h"

namespace torchneuron {

// Runs before the kernels, because torch.func.jvp removes the tangents from the arguments that kernels receive.
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

}  // namespace torchneuron
