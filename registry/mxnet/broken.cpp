#include "broken.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "operator.h"

namespace pykernels::mxnet {
namespace {

// The broken arrays and why they are. Never destroyed: MXNet's threads may outlive static objects.
struct Broken {
  std::mutex mutex;
  std::unordered_map<const ThreadedVar*, std::exception_ptr> failures;
  // Those of Python operators that nobody has been told, also when their arrays are gone.
  std::vector<std::exception_ptr> untold;
  struct Result {
    const ThreadedVar* variable;
    const ResultScope* scope;
  };
  // What Python operators are writing, by its memory.
  std::unordered_map<const void*, Result> results;
};

Broken& TheBroken() {
  static auto* broken = new Broken;
  return *broken;
}

// Whether anything ever failed: until then there is nothing to follow.
std::atomic<bool> has_failed{false};

thread_local bool is_in_kernel = false;

// What the engine did before. Stays when it is no longer watched, for calls that have begun until then.
const EngineFunctions* unwatched = nullptr;
// What it does while it is watched.
const EngineTable* watching = nullptr;
std::atomic<bool> is_watched{false};

ThreadedVar* VariableOf(const void* array) {
  return (*static_cast<const ArrayChunk* const*>(array))->variable;
}

// An array that no operation has written yet holds nothing; one that is updated in place keeps what it had.
bool IsNew(const ThreadedVar& variable) { return variable.n_writes == 0; }

const Failure* AsFailure(const std::exception_ptr& exception) {
  if (!exception) return nullptr;
  try {
    std::rethrow_exception(exception);
  } catch (const Failure& failure) {
    return failure.owner == &has_failed ? &failure : nullptr;
  } catch (...) {
    return nullptr;
  }
}

bool IsTold(const std::exception_ptr& exception) {
  const Failure* failure = AsFailure(exception);
  return failure && failure->is_told;
}

void SetTold(const std::exception_ptr& exception) {
  if (const Failure* failure = AsFailure(exception)) failure->is_told = true;
}

// Once it has been told, a failure matters to broken arrays only. MXNet clears it in the same way.
void ForgetIfTold(const FailureRef& failure) {
  if (IsPending(failure) && IsTold(*failure)) *failure = nullptr;
}

// Why what is read is broken, or null.
std::exception_ptr FailureOf(const ThreadedOpr& opr, const Broken& broken) {
  for (const ThreadedVar* variable : opr.read) {
    const auto found = broken.failures.find(variable);
    if (found != broken.failures.end()) return found->second;
    if (IsPending(variable->failure)) return *variable->failure;
  }
  return nullptr;
}

// Whether the engine will leave an operation out for what it writes.
bool IsLeftOut(const ThreadedOpr& opr) {
  if (IsPending(opr.failure)) return true;
  for (const ThreadedVar* variable : opr.written) {
    if (IsPending(variable->failure)) return true;
  }
  return false;
}

// What an operation leaves unwritten, because of `failure`, is broken.
void MarkNew(const ThreadedOpr& opr, const std::exception_ptr& failure, Broken* broken) {
  for (const ThreadedVar* variable : opr.written) {
    if (IsNew(*variable)) broken->failures.emplace(variable, failure);
  }
}

// `opr` runs next: whatever it reads is there, and nothing else reads or writes what it writes.
void Follow(ThreadedOpr* opr) {
  if (opr->property == kNoSkip) return;  // ends a custom operator
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  if (opr->property == kDeleteVar) {
    // "DeleteOperator" has the same property, and leaves its variables as they are.
    if (std::strcmp(opr->name, "DeleteVariable") != 0) return;
    broken.failures.erase(opr->written.front());
    opr->written.front()->failure.reset();  // MXNet would leave the deletion out, too
    return;
  }
  ForgetIfTold(opr->failure);
  for (const ThreadedVar* variable : opr->read) ForgetIfTold(variable->failure);
  for (const ThreadedVar* variable : opr->written) ForgetIfTold(variable->failure);
  if (const std::exception_ptr failure = FailureOf(*opr, broken)) {
    MarkNew(*opr, failure, &broken);
    if (!IsPending(opr->failure)) opr->failure = std::make_shared<std::exception_ptr>(failure);
  } else if (!IsLeftOut(*opr)) {
    for (const ThreadedVar* variable : opr->written) broken.failures.erase(variable);
  }
}

void Mark(const ThreadedVar* variable, const std::exception_ptr& failure, Broken* broken) {
  broken->failures[variable] = failure;
  // MXNet may run several operators as one operation, which ends here.
  if (variable->writing) MarkNew(*variable->writing->trigger->opr, failure, broken);
  has_failed = true;
}

void PushToExecute(Engine* engine, OprBlock* block, bool is_pusher) {
  if (has_failed) Follow(block->opr);
  unwatched->PushToExecute(engine, block, is_pusher);
}

void RefuseInKernel() {
  if (is_in_kernel) {
    throw dmlc::Error(WithCode(kKernelError,
                               "a kernel waits for MXNet, which waits for the kernel: compute with the arrays that it "
                               "is given, in NumPy"));
  }
}

// Has the engine wait, and returns what it throws, or null.
template <typename Body>
std::exception_ptr Wait(const Body& body) {
  RefuseInKernel();
  try {
    body();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void WaitForVar(Engine* engine, ThreadedVar* variable) {
  std::exception_ptr failure = Wait([&] { unwatched->WaitForVar(engine, variable); });
  if (!failure && !has_failed) return;
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  const auto found = broken.failures.find(variable);
  if (found != broken.failures.end()) {
    failure = found->second;
  } else if (IsTold(failure)) {
    return;  // the array has the value that it had before
  }
  if (!failure) return;
  SetTold(failure);
  broken.untold.erase(std::remove(broken.untold.begin(), broken.untold.end(), failure), broken.untold.end());
  std::rethrow_exception(failure);
}

void WaitForAll(Engine* engine) {
  std::exception_ptr failure = Wait([&] { unwatched->WaitForAll(engine); });
  if (!failure && !has_failed) return;
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  if (!broken.untold.empty() && (!failure || IsTold(failure))) failure = broken.untold.front();
  if (!failure) return;
  // MXNet has forgotten all others, too.
  for (const auto& [variable, other] : broken.failures) {
    if (IsTold(failure) && !IsTold(other)) failure = other;
  }
  const bool is_told = IsTold(failure);
  SetTold(failure);
  for (const auto& [variable, other] : broken.failures) SetTold(other);
  broken.untold.clear();
  if (!is_told) std::rethrow_exception(failure);
}

bool HasThreads(const EngineTable& table) {
  const char* name = table.type->name();
  return std::strcmp(name, "N5mxnet6engine23ThreadedEnginePerDeviceE") == 0 ||
         std::strcmp(name, "N5mxnet6engine20ThreadedEnginePooledE") == 0;
}

}  // namespace

Failure::Failure(const std::string& text) : dmlc::Error(WithCode(kKernelError, text)), owner(&has_failed) {}

void WatchEngine(Engine* engine) {
  const char* functions = reinterpret_cast<const char*>(engine->functions);
  const auto* table = reinterpret_cast<const EngineTable*>(functions - offsetof(EngineTable, functions));
  if (!HasThreads(*table)) return;
  if (!watching) {
    unwatched = engine->functions;
    // A copy, since other engines may share its table.
    auto* ours = new EngineTable(*table);
    ours->functions.WaitForVar = WaitForVar;
    ours->functions.WaitForAll = WaitForAll;
    ours->functions.PushToExecute = PushToExecute;
    watching = ours;
  }
  is_watched = true;
  engine->functions = &watching->functions;
}

void UnwatchEngine(Engine* engine) {
  if (!is_watched.exchange(false)) return;
  engine->functions = unwatched;
}

void MarkBroken(const std::vector<const void*>& arrays, const std::exception_ptr& failure) {
  if (!is_watched) return;
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  for (const void* array : arrays) Mark(VariableOf(array), failure, &broken);
}

ResultScope::ResultScope(const std::vector<void*>& arrays) {
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  for (void* array : arrays) {
    const Array result = ReadIfDense(array);
    if (result.is_none) continue;
    data_.push_back(result.data);
    broken.results[result.data] = {VariableOf(array), this};
  }
}

ResultScope::~ResultScope() {
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  for (const void* data : data_) {
    // The next operator that writes there may have begun.
    const auto found = broken.results.find(data);
    if (found != broken.results.end() && found->second.scope == this) broken.results.erase(found);
  }
}

bool MarkResultsBroken(const std::vector<const void*>& data, const std::exception_ptr& failure) {
  if (!is_watched) return false;
  Broken& broken = TheBroken();
  std::lock_guard<std::mutex> lock(broken.mutex);
  size_t n_marked = 0;
  for (const void* each : data) {
    const auto found = broken.results.find(each);
    if (found == broken.results.end()) continue;
    Mark(found->second.variable, failure, &broken);
    ++n_marked;
  }
  if (n_marked == 0 || n_marked < data.size()) return false;
  broken.untold.push_back(failure);
  return true;
}

KernelScope::KernelScope() { is_in_kernel = true; }

KernelScope::~KernelScope() { is_in_kernel = false; }

}  // namespace pykernels::mxnet
