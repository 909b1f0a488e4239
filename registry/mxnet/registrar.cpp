// The functions that Python calls to register ops in MXNet. Each returns 0, or writes the reason to `error` and
// returns 1.
#include <pykernels/kernel.h>

#include <map>
#include <mutex>

#include "../host/error.h"
#include "../host/mutex.h"
#include "../host/op.h"
#include "../host/parallel.h"
#include "../host/tensors.h"
#include "engine.h"
#include "layout.h"
#include "operator.h"
#include "python_operator.h"
#include "recorded_gradient.h"

namespace pykernels::mxnet {
namespace {

// Makes `creator` create the operators called `name`. Other code may have registered the name in the meantime.
void RegisterCreator(const std::string& name, MXPropCreator creator, bool is_others = false) {
  // MXNet cannot forget a name, and warns if one is registered again.
  static Mutex mutex;
  static std::map<std::string, MXPropCreator> creators;
  std::lock_guard lock(mutex);
  MXPropCreator& known = creators[name];
  if (known == creator && !is_others) return;
  if (Api().CustomOpRegister(name.c_str(), creator) != 0) {
    Fail(kLoadError, "MXNet refuses the name '", name, "': ", Api().GetLastError());
  }
  known = creator;
}

// -- An op that the engine is tried with before it is trusted ---------------------------------------------------------

// As in pykernels/frameworks/mxnet/registrar.py.
constexpr char kCheckedOp[] = "_pykernels_double";

int32_t Infer(int32_t /*op*/, pk_instance* use, char* /*error*/, size_t /*size*/) {
  use->outputs[0].dtype = use->inputs[0].dtype;
  CopyShape(use->inputs[0], &use->outputs[0]);
  return 0;
}

// The gradient of doubling doubles the gradient of the output.
int32_t PlanGradient(int32_t /*gradient*/, const pk_instance* /*forward*/, const pk_plan_sink* sink, char* /*error*/,
                     size_t /*size*/) {
  sink->op(sink->user, "grad", kCheckedOp);
  sink->input(sink->user, "x", "D/y/0");
  sink->output(sink->user, "y", 1);
  sink->bind(sink->user, "x", 0, "grad/y_0");
  return 0;
}

int32_t Double(const pk_kernel* /*kernel*/, void* const* data, const int64_t* dims, const pk_scalar* /*scalars*/,
               int64_t /*begin*/, int64_t /*end*/, int64_t* /*detail*/) {
  const auto* x = static_cast<const float*>(data[0]);
  auto* y = static_cast<float*>(data[1]);
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = 2 * x[i];
  return PK_OK;
}

constexpr pk_argument kX[] = {{"x", 1, 0, 0, 0}};
constexpr pk_argument kY[] = {{"y", 1, 0, 0, 0}};
constexpr int32_t kRanks[] = {1, 1};
constexpr pk_kernel kKernel = {Double, 0, 0, nullptr, kRanks};

constexpr uint32_t kFlags = PK_OP_INFERS_SHAPE | PK_OP_INFERS_DTYPE;
constexpr pk_op kOp = {kCheckedOp, __FILE__, __LINE__, kFlags, 1, 1, 0, kX, kY, nullptr};
constexpr pk_gradient kGradient = {kCheckedOp, __FILE__, __LINE__};
constexpr pk_definition kDefinition = {PK_DEFINITION_ABI, 1, 1, &kOp, &kGradient, Infer, PlanGradient, nullptr};

// -- MXNet's threads for parallel loops: those of the OpenMP library that it is linked with ---------------------------

// Addresses in libmxnet and in GNU's OpenMP library.
struct ThreadSymbols {
  void* (*GetOpenMP)();                                            // mxnet::engine::OpenMP::Get()
  int (*GetRecommendedThreadCount)(const void* self, bool exclude);  // its GetRecommendedOMPThreadCount(bool) const
  void (*GompParallel)(void (*run)(void* data), void* data, unsigned n_threads, unsigned flags);
  int (*GetThreadNumber)();
  int (*GetTeamSize)();
};

ThreadSymbols the_threads{};

int CountThreads() {
  // A forked child lacks its parent's threads, and OpenMP does not notice.
  if (IsForked()) return 1;
  return the_threads.GetRecommendedThreadCount(the_threads.GetOpenMP(), true);
}

struct Loop {
  int n;
  void (*run)(void* context, int i);
  void* context;
};

// Runs the calling thread's share of the work; the team may be smaller than requested.
void RunShare(void* data) {
  const auto& loop = *static_cast<const Loop*>(data);
  for (int i = the_threads.GetThreadNumber(); i < loop.n; i += the_threads.GetTeamSize()) loop.run(loop.context, i);
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  Loop loop{n, run, context};
  the_threads.GompParallel(RunShare, &loop, static_cast<unsigned>(n), 0);
}

}  // namespace

// Sets the services. `services` and `load` must stay valid for the life of the process; `api` is copied.
// `is_known_build`: libmxnet is the one of mxnet 1.9.1 on PyPI, whose layout in memory is known.
PK_EXPORT int32_t pk_mxnet_init(const pk_services* services, LoadFunction load, const MXApi* api,
                                int32_t is_known_build, char* error, size_t size) {
  return Report(error, size, [&] {
    SetServices(services, load);
    ForkGate::StayOpen();  // MXNet's engine ends its threads, which may be about to call us
    Api() = *api;
    mxnet::is_known_build = is_known_build;
  });
}

// Registers `name` with MXNet. Its op is looked up, and loaded if necessary, when MXNet first uses it.
PK_EXPORT int32_t pk_mxnet_register(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, CreateProperty); });
}

// Sets the functions that Python implements. `functions` is copied; what it points to must stay valid for the process.
PK_EXPORT int32_t pk_mxnet_init_classes(const PythonFunctions* functions, char* error, size_t size) {
  return Report(error, size, [&] { SetPythonFunctions(*functions); });
}

// Registers `name` with MXNet for a class that Python provides. `is_others`: other code may have registered the name.
PK_EXPORT int32_t pk_mxnet_register_class(const char* name, int32_t is_others, char* error, size_t size) {
  return Report(error, size, [&] { RegisterCreator(name, CreatePythonProperty, is_others); });
}

PK_EXPORT int64_t pk_mxnet_next_retired() { return NextRetired(); }

// Sets or replaces the op of `name`: the op at position `index` of `definition`, with the gradient at position
// `gradient` (negative for none). `kernel_id` is passed to pk_services.resolve.
PK_EXPORT int32_t pk_mxnet_add(const char* name, const pk_definition* definition, int32_t index, int32_t gradient,
                               int64_t kernel_id, char* error, size_t size) {
  return Report(error, size, [&] {
    OpTable::Get().Add(name, std::make_shared<const Op>(definition, index, gradient, kernel_id));
  });
}

// Removes the op of `name`; it is loaded again on next use.
PK_EXPORT int32_t pk_mxnet_remove(const char* name, char* error, size_t size) {
  return Report(error, size, [&] { OpTable::Get().Remove(name); });
}

// Runs ops inside MXNet's engine from now on, if the internals of this MXNet version are known. Registers the op that
// this is to be tried with, which doubles float32 numbers, as does its gradient.
PK_EXPORT int32_t pk_mxnet_enter_engine(const EngineSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] {
    RegisterCreator(kCheckedOp, CreateProperty);
    RegisterCreator(GradientOpName(), CreateGradientProperty);
    OpTable::Get().Add(kCheckedOp, std::make_shared<const Op>(&kDefinition, 0, 0, 0, &kKernel));
    EnterEngine(*symbols);
  });
}

// Runs ops on the threads of MXNet's custom operators again.
PK_EXPORT int32_t pk_mxnet_leave_engine(char* error, size_t size) {
  return Report(error, size, [] { LeaveEngine(); });
}

// Runs kernels that can be divided on MXNet's threads for parallel loops.
PK_EXPORT int32_t pk_mxnet_use_threads(const ThreadSymbols* symbols, char* error, size_t size) {
  return Report(error, size, [&] {
    the_threads = *symbols;
    SetThreadPool({CountThreads, ForEach});
  });
}

}  // namespace pykernels::mxnet
