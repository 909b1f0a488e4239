// The functions of this registrar that Python calls.
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "../host/parallel.h"
#include "kernels.h"

namespace pykernels::torch_ops {
namespace {

// Wraps one of the functions of kernels.h for one op.
class Functor : public c10::OperatorKernel {
 public:
  Functor(const TorchOp& op, Kernel kernel) : op_(op), kernel_(kernel) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
    kernel_(op_, handle, keys, stack);
  }

 private:
  const TorchOp& op_;
  Kernel kernel_;
};

constexpr std::pair<c10::DispatchKey, Kernel> kKernels[] = {
    {c10::DispatchKey::CPU, RunOnCpu},
    {c10::DispatchKey::Meta, RunOnMeta},
    {c10::DispatchKey::Autograd, RunAutograd},
    {c10::DispatchKey::AutocastCPU, RunAutocast},
    {c10::DispatchKey::AutocastCUDA, RunAutocast},
};

// The registrations of one operator name. The kernels stay for good: users may hold on to an operator and call it after
// its definition is gone, and then the kernel reports that.
class Entry {
 public:
  Entry(const std::string& library, const std::string& name, const TorchOp& op) : kernels_(MakeLibrary(library)) {
    for (const auto& [key, kernel] : kKernels) {
      auto functor = std::make_unique<Functor>(op, kernel);
      kernels_.impl(name.c_str(), torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(std::move(functor))));
    }
  }

  void Define(const std::string& library, const std::string& schema) {
    if (schema == schema_) return;
    definition_ = nullptr;
    definition_ = MakeDefinition(library, schema);
    symbolic_ = nullptr;
    symbolic_ = MakeDefinition(kSymbolicPrefix + library, schema);
    schema_ = schema;
  }

 private:
  static std::unique_ptr<torch::Library> MakeDefinition(const std::string& library, const std::string& schema) {
    auto made = std::make_unique<torch::Library>(MakeLibrary(library));
    made->def(torch::schema(schema.c_str()), {at::Tag::pt2_compliant_tag});
    return made;
  }

  static torch::Library MakeLibrary(const std::string& library) {
    return {torch::Library::FRAGMENT, library, std::nullopt, "pykernels", 0};
  }

  torch::Library kernels_;
  std::unique_ptr<torch::Library> definition_;
  std::unique_ptr<torch::Library> symbolic_;
  std::string schema_;
};

int CountThreads() {
  // A forked child lacks its parent's threads, and OpenMP would wait for them.
  return IsForked() || at::in_parallel_region() ? 1 : at::get_num_threads();
}

void ForEach(int n, void (*run)(void* context, int i), void* context) {
  at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(context, static_cast<int>(i));
  });
}

template <typename Body>
int32_t Guard(char* error, size_t size, const Body& body) {
  try {
    body();
    return 0;
  } catch (const c10::Error& problem) {
    std::snprintf(error, size, "%s", problem.what_without_backtrace());
  } catch (const std::exception& problem) {
    std::snprintf(error, size, "%s", problem.what());
  }
  return 1;
}

}  // namespace

// Sets the services. `services` and `load` must stay valid for the process.
PK_EXPORT void pykernels_torch_init(const pk_services* services, LoadFunction load) {
  SetServices(services, load);
  SetThreadPool({CountThreads, ForEach});
}

// Makes op `index` of a definition the current op of its type. `gradient` is the index of its gradient, or -1.
PK_EXPORT int32_t pykernels_torch_load(const char* type, const pk_definition* definition, int32_t index,
                                       int32_t gradient, int64_t kernel_id, int32_t takes_is_train, char* error,
                                       size_t size) {
  return Guard(error, size, [&] {
    const auto op = std::make_shared<const Op>(definition, index, gradient, kernel_id);
    OpTable::Get().Add(type, op);
    TorchOp::Get(type).Load(new Loaded(op, takes_is_train));  // never deleted, see Loaded
  });
}

// Registers an op type with PyTorch as `library`::`name`, using the schema that begins with that name.
PK_EXPORT int32_t pykernels_torch_define(const char* type, const char* library, const char* name, const char* schema,
                                         char* error, size_t size) {
  return Guard(error, size, [&] {
    static auto* entries = new std::map<std::string, Entry>;  // never destroyed, like PyTorch's own table
    TorchOp& op = TorchOp::Get(type);
    const std::string qualified = Join(library, "::", name);
    auto found = entries->find(qualified);
    if (found == entries->end()) found = entries->try_emplace(qualified, library, name, op).first;
    found->second.Define(library, schema);
    if (!op.has_operator()) op.SetOperator(qualified);
  });
}

// Unloads an op type; its next use loads it again.
PK_EXPORT void pykernels_torch_unload(const char* type) {
  OpTable::Get().Remove(type);
  TorchOp::Get(type).Load(nullptr);
}

}  // namespace pykernels::torch_ops
