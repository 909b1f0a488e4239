// The members that tensor_members.h declares, and other code that needs the complete class Tensor.
#pragma once

#include <sstream>

namespace torchneuron {

// Returns the elements of a tensor after the checks that all accessors share.
template <typename T>
const T* elements(const at::Tensor& tensor, const std::string& what, Place place) {
  if (!tensor.defined()) { fail(place, what + " of a tensor that is not defined"); }
  if (!tensor.device().is_cpu()) {
    fail(place, what + ": the tensor has a shape and no data; a shape function must not read elements");
  }
  constexpr c10::ScalarType wanted = c10::CppTypeToScalarType<T>::value;
  if (tensor.scalar_type() != wanted) {
    fail(place,
         what + " of " + c10::toString(wanted) + ", but the tensor is of " + c10::toString(tensor.scalar_type()));
  }
  return static_cast<const T*>(tensor.const_data_ptr());
}

// Returns the elements for accessors that go through a tensor in memory order.
template <typename T>
const T* flat_elements(const at::Tensor& tensor, const std::string& what, Place place) {
  const T* data = elements<T>(tensor, what, place);
  if (!tensor.is_contiguous()) { fail(place, what + " needs a contiguous tensor: call contiguous() first"); }
  return data;
}

// Throws on several cores: they can access a tensor only through their own memory.
inline void check_single_core(const std::string& what, Place place) {
  const Call* call = *torchneuron_call();
  if (call != nullptr && call->cpu_count > 1) {
    fail(place, what + ": with multicore=True tensors can be accessed through tcm_accessor() only");
  }
}

template <typename T, size_t N>
const T* indexed_elements(const at::Tensor& tensor, Place place) {
  static_assert(N > 0, "an accessor has at least one dimension");
  check_single_core("accessor()", place);
  const T* data = elements<T>(tensor, "accessor()", place);
  if (tensor.dim() != static_cast<int64_t>(N)) {
    std::ostringstream sizes;
    sizes << tensor.sizes();
    fail(place, "accessor() of " + std::to_string(N) + " dimension" + (N == 1 ? "" : "s") + ", but the tensor has " +
                    std::to_string(tensor.dim()) + ", its sizes are " + sizes.str());
  }
  return data;
}

template <typename T>
const T* streamed_elements(const at::Tensor& tensor, const std::string& what, Place place) {
  check_single_core(what, place);
  return flat_elements<T>(tensor, what, place);
}

inline torch::CoherencyEnforcer::Policy policy_of(const Call& call, const void* data) {
  for (const auto& [tensor, policy] : call.policies) {
    if (tensor == data) { return policy; }
  }
  return torch::CoherencyEnforcer::COHERENT;
}

inline void check_coherence(const Call& call, const void* data, bool writes, Place place) {
  for (const OpenStream& each : call.streams) {
    if (each.data != data || data == nullptr || !(each.writes || writes)) { continue; }
    const std::string what = std::string("a stream accessor that ") + (writes ? "writes" : "reads") +
                             " is opened while one that " + (each.writes ? "writes" : "reads") +
                             " the same tensor is open: close() that one first";
    switch (policy_of(call, data)) {
      case torch::CoherencyEnforcer::COHERENT: fail(place, what);
      case torch::CoherencyEnforcer::INCOHERENT_VERBOSE: TORCH_WARN(at_place(place, what)); break;
      case torch::CoherencyEnforcer::INCOHERENT_QUIET: break;
    }
  }
}

}  // namespace torchneuron

namespace torch {

inline StreamAccessor::StreamAccessor(const void* data, int64_t size, bool writes, torchneuron::Place place)
    : call_(&torchneuron::current_call(writes ? "write_stream_accessor()" : "read_stream_accessor()", place)),
      size_(size) {
  torchneuron::check_coherence(*call_, data, writes, place);
  // A stream accessor without a buffer also works, but is slower on the device.
  if (call_->tcm_used + torchneuron::kStreamBuffer <= torchneuron::kTcmSize) { buffer_ = torchneuron::kStreamBuffer; }
  call_->tcm_used += buffer_;
  call_->streams.push_back({this, data, writes});
}

template <bool read_only>
class TensorTcmAccessor {
 public:
  explicit TensorTcmAccessor(const at::Tensor& tensor) : tensor_(tensor) {}

  template <typename T>
  void tensor_to_tcm(T* tcm, size_t offset, size_t count, torchneuron::Place place = torchneuron::Place::here()) {
    const T* data = check<T>("tensor_to_tcm()", tcm, offset, count, place);
    if (count != 0) { std::memcpy(tcm, data + offset, count * sizeof(T)); }
  }

  template <typename T>
  void tcm_to_tensor(T* tcm, size_t offset, size_t count, torchneuron::Place place = torchneuron::Place::here()) {
    static_assert(!read_only, "tcm_to_tensor() on the accessor of a const Tensor, which is read-only");
    const T* data = check<T>("tcm_to_tensor()", tcm, offset, count, place);
    if (count != 0) { std::memcpy(const_cast<T*>(data) + offset, tcm, count * sizeof(T)); }
  }

 private:
  template <typename T>
  const T* check(const char* name, const T* tcm, size_t offset, size_t count, torchneuron::Place place) const {
    const std::string what = name;
    torchneuron::Call& call = torchneuron::current_call(name, place);
    const T* data = torchneuron::flat_elements<T>(tensor_, what, place);
    const auto size = static_cast<size_t>(tensor_.numel());
    if (offset > size || count > size - offset) {
      torchneuron::fail(place, what + " of " + std::to_string(count) + " elements from " + std::to_string(offset) +
                                   " on is out of bounds for a tensor of " + std::to_string(size));
    }
    const torchneuron::TcmBlock* block = call.find(tcm);
    if (block == nullptr) {
      torchneuron::fail(place, what + ": the buffer is not memory that tcm_malloc() gave, or it has been freed");
    }
    const size_t room =
        static_cast<size_t>(block->memory + block->size - reinterpret_cast<const unsigned char*>(tcm)) / sizeof(T);
    if (count > room) {
      torchneuron::fail(place, what + " of " + std::to_string(count) + " elements, but the buffer has room for " +
                                   std::to_string(room));
    }
    return data;
  }

  at::Tensor tensor_;
};

}  // namespace torch

namespace at {

template <typename T, size_t N>
torch::TensorAccessor<T, N, true> Tensor::accessor(torchneuron::Place place) const& {
  const T* data = torchneuron::indexed_elements<T, N>(*this, place);
  return torch::TensorAccessor<T, N, true>(data, sizes().data(), strides().data());
}

template <typename T, size_t N>
torch::TensorAccessor<T, N, false> Tensor::accessor(torchneuron::Place place) & {
  T* data = const_cast<T*>(torchneuron::indexed_elements<T, N>(*this, place));
  return torch::TensorAccessor<T, N, false>(data, sizes().data(), strides().data());
}

template <typename T>
torch::TensorReadStreamAccessor<T> Tensor::read_stream_accessor(torchneuron::Place place) const& {
  const T* data = torchneuron::streamed_elements<T>(*this, "read_stream_accessor()", place);
  return torch::TensorReadStreamAccessor<T>(data, numel(), place);
}

template <typename T>
torch::TensorWriteStreamAccessor<T> Tensor::write_stream_accessor(torchneuron::Place place) & {
  const T* data = torchneuron::streamed_elements<T>(*this, "write_stream_accessor()", place);
  return torch::TensorWriteStreamAccessor<T>(const_cast<T*>(data), numel(), place);
}

inline torch::TensorTcmAccessor<true> Tensor::tcm_accessor(torchneuron::Place place) const& {
  torchneuron::current_call("tcm_accessor()", place);
  return torch::TensorTcmAccessor<true>(*this);
}

inline torch::TensorTcmAccessor<false> Tensor::tcm_accessor(torchneuron::Place place) & {
  torchneuron::current_call("tcm_accessor()", place);
  return torch::TensorTcmAccessor<false>(*this);
}

inline torch::CoherencyEnforcer::Policy Tensor::get_accessor_coherence_policy(torchneuron::Place place) const {
  return torchneuron::policy_of(torchneuron::current_call("get_accessor_coherence_policy()", place), const_data_ptr());
}

inline void Tensor::set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy policy,
                                                  torchneuron::Place place) const {
  auto& policies = torchneuron::current_call("set_accessor_coherence_policy()", place).policies;
  policies.insert(policies.begin(), {const_data_ptr(), policy});
}

}  // namespace at

// Returns the tensor that the operator returns. A kernel that calls this writes its results there, and its own return
// value is ignored.
inline at::Tensor get_dst_tensor(torchneuron::Place place = torchneuron::Place::here()) {
  return *static_cast<const at::Tensor*>(torchneuron::current_call("get_dst_tensor()", place).output());
}
