#include "node.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "../host/error.h"
#include "../host/execute.h"
#include "../host/parallel.h"
#include "values.h"

namespace pykernels::onnxruntime {
namespace {

// The node that this thread runs or ran last; its kernel may request the session's threads.
struct Running {
  const OrtApi* api;
  const OrtKernelContext* context;
};
thread_local Running the_running{};

int CountThreads() {
  static const int count = [] {
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
  }();
  return count;
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  struct Loop {
    void (*run)(void* context, int i);
    void* context;
  } loop{run, context};
  const auto call = [](void* data, size_t i) {
    const auto& loop = *static_cast<Loop*>(data);
    loop.run(loop.context, static_cast<int>(i));
  };
  OrtStatus* status = the_running.api->KernelContext_ParallelFor(the_running.context, call, n, 0, &loop);
  if (!status) return;
  // An error means that nothing has run.
  the_running.api->ReleaseStatus(status);
  for (int i = 0; i < n; ++i) run(context, i);
}

const bool threads_are_set = (SetThreadPool({CountThreads, ForEach}), true);

bool IsAligned(const void* data, size_t power_of_two) {
  return (reinterpret_cast<uintptr_t>(data) & (power_of_two - 1)) == 0;
}

void* Copy(const void* data, const pk_tensor& type, Scratch* scratch) {
  const size_t bytes = CountBytes(type);
  return std::memcpy(scratch->Allocate(bytes), data, bytes);
}

}  // namespace

Node::Node(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info)
    : api_(api),
      variant_(variant),
      prepared_(variant, ReadAttributes(variant.type.op()->declared(), variant.type.name(), api, info)) {}

void Node::Run(OrtKernelContext* context) const {
  void* data[2 * kMostSlots];
  const Prepared* same = prepared_.FindSame(api_, context, data);
  if (same) return RunOn(*same, context, data);
  const Inputs inputs(api_, context, variant_.inputs.size());
  std::shared_ptr<const void> keep;
  const Prepared& prepared = prepared_.Find(inputs, api_, context, &keep);
  for (size_t i = 0; i < prepared.inputs.size(); ++i) data[i] = inputs[prepared.inputs[i].slot].data;
  RunOn(prepared, context, data);
}

void Node::RunOn(const Prepared& prepared, OrtKernelContext* context, void** data) const {
  const Specialization& specialization = *prepared.specialization;
  Scratch scratch;
  size_t n = prepared.inputs.size();
  for (size_t i = 0; i < n; ++i) {
    const Prepared::Input& input = prepared.inputs[i];
    if (input.is_state || !IsAligned(data[i], input.alignment)) {
      data[i] = Copy(data[i], specialization.inputs()[i], &scratch);
    }
  }
  for (size_t slot : prepared.outputs) {
    const pk_tensor& type = specialization.outputs()[slot];
    OrtValue* value = nullptr;
    Check(api_, api_.KernelContext_GetOutput(context, slot, type.dims, type.ndim, &value));
    void* buffer = nullptr;
    if (value) Check(api_, api_.GetTensorMutableData(value, &buffer));
    // The output is not requested, or it has no elements.
    data[n++] = buffer ? buffer : scratch.Allocate(CountBytes(type));
  }
  int64_t detail[PK_DETAIL_SIZE];
  // Access to a thread-local variable takes a tenth of the time of a small node.
  if (prepared.n_elements >= kFewestToCut) the_running = {&api_, context};
  const int32_t status = RunKernel(*prepared.kernel, data, specialization.dims().data(), prepared.scalars.data(),
                                   prepared.n_elements, detail);
  if (status != PK_OK) specialization.HandleFailure(status, data, prepared.scalars.data(), detail);
}

}  // namespace pykernels::onnxruntime
