#include "specialization.h"

#include "backward.h"
#include "error.h"
#include "parallel.h"

namespace pykernels {

Specialization::Specialization(const Instance& instance, Tensors inputs, Tensors outputs)
    : instance_(instance), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  for (const Tensors* tensors : {&inputs_, &outputs_}) {
    for (const pk_tensor& tensor : *tensors) dims_.insert(dims_.end(), tensor.dims, tensor.dims + tensor.ndim);
  }
}

const pk_kernel& Specialization::Kernel() const {
  const pk_kernel* kernel = kernel_.load(std::memory_order_acquire);
  if (!kernel) {
    kernel = instance_.op().Resolve(instance_.View(inputs_, outputs_));
    kernel_.store(kernel, std::memory_order_release);
  }
  return *kernel;
}

void Specialization::Run(const std::vector<void*>& data, bool is_train) const {
  const pk_kernel& kernel = Kernel();
  const std::vector<pk_scalar> scalars = Scalars(kernel, is_train);
  const int64_t elements = outputs_.empty() ? 0 : static_cast<int64_t>(CountElements(outputs_.front()));
  int64_t detail[PK_DETAIL_SIZE] = {};
  const int32_t status = RunKernel(kernel, data.data(), dims_.data(), scalars.data(), elements, detail);
  if (status != PK_OK) HandleFailure(status, data.data(), scalars.data(), detail);
}

void Specialization::HandleFailure(int32_t status, void* const* data, const pk_scalar* scalars,
                                   const int64_t* detail) const {
  char text[kErrorSize] = "";
  const pk_instance view = instance_.View(inputs_, outputs_);
  Services().explain(&Kernel(), &view, status, data, dims_.data(), scalars, detail, text, sizeof text);
  if (text[0]) throw Error(kKernelError, text);
}

std::vector<pk_scalar> Specialization::Scalars(const pk_kernel& kernel, bool is_train) const {
  std::vector<pk_scalar> scalars(kernel.n_scalars);
  for (int32_t i = 0; i < kernel.n_scalars; ++i) {
    if (kernel.scalars[i] == PK_SCALAR_IS_TRAIN) {
      scalars[i].integer = is_train;
      continue;
    }
    const pk_attr& value = instance_.attributes()[kernel.scalars[i]];
    if (value.type == PK_ATTR_FLOAT || value.type == PK_ATTR_DOUBLE) {
      scalars[i].real = value.real;
    } else {
      scalars[i].integer = value.integer;
    }
  }
  return scalars;
}

const BackwardPlan& Specialization::Backward() const {
  return backward_.Get([&] { return std::make_shared<const BackwardPlan>(instance_, inputs_, outputs_); });
}

}  // namespace pykernels
