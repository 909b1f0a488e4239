#include "broken.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "../host/mutex.h"
#include "operator.h"

namespace pykernels::mxnet {
namespace {

// Why an array is broken: its contents are lost, or an operation that would have changed it was skipped.
struct Reason {
  std::exception_ptr failure;
  bool is_lost;
};

// The broken arrays. Never destroyed: MXNet's threads may outlive static objects.
struct Broken {
  Mutex mutex;
  std::unordered_map<const ThreadedVar*, Reason> arrays;
  // Failures of Python operators that have not been reported yet, even if their arrays are gone.
  std::vector<std::exception_ptr> unreported;
  // How many failures have been reported now, and when each waiting operation was pushed; 0 if it is not in the table.
  size_t n_reported = 0;
  std::unordered_map<const ThreadedOpr*, std::deque<size_t>> n_reported_at_push;
  struct Result {
    const ThreadedVar* variable;
    const ResultScope* scope;
  };
  // The arrays that Python operators are writing, by their memory.
  std::unordered_map<const void*, Result> results;
};

Broken& TheBroken() {
  static auto* broken = new Broken;
  return *broken;
}

// Whether anything has ever failed; before that, operations need not be followed.
std::atomic<bool> has_failed{false};

thread_local bool is_in_kernel = false;

// The arrays that a Python operator on this thread is writing; null if there is none.
thread_local const std::vector<const ThreadedVar*>* being_written = nullptr;

// The engine's original functions. They remain after watching ends, for calls that began before.
const EngineFunctions* unwatched = nullptr;
// The engine's functions while it is watched.
const EngineTable* watching = nullptr;
std::atomic<bool> is_watched{false};

ThreadedVar* VariableOf(const void* array) {
  return (*static_cast<const ArrayChunk* const*>(array))->variable;
}

// Returns whether no operation has written the array yet. A new array holds nothing; others keep their last value.
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

bool IsReported(const std::exception_ptr& exception) {
  const Failure* failure = AsFailure(exception);
  return failure && failure->reported;
}

void SetReported(const std::exception_ptr& exception, Broken* broken) {
  const Failure* failure = AsFailure(exception);
  if (failure && !failure->reported) failure->reported = ++broken->n_reported;
}

// An operation about to run: its inputs are ready, and nothing else reads or writes its outputs.
struct Next {
  ThreadedOpr* opr;
  // How many failures had been reported when it was pushed.
  size_t n_reported;

  // Returns whether the caller could know of the failure when pushing the operation, and so wants it regardless. An
  // earlier operation may belong to the failed pass: it may update the broken array in place, which MXNet does not
  // distinguish from writing it anew.
  bool Knows(const std::exception_ptr& exception) const {
    const Failure* failure = AsFailure(exception);
    return !failure || (failure->reported && failure->reported <= n_reported);
  }
};

// Clears a failure that the caller knows of, as MXNet does; it then matters only to lost arrays.
void ForgetIfKnown(const Next& next, const FailureRef& failure) {
  if (IsPending(failure) && AsFailure(*failure) && next.Knows(*failure)) *failure = nullptr;
}

// Returns the failure because of which an operation must be skipped, or null.
std::exception_ptr FailureOf(const Next& next, const Broken& broken) {
  for (const ThreadedVar* variable : next.opr->read) {
    const auto found = broken.arrays.find(variable);
    if (found != broken.arrays.end() && (found->second.is_lost || !next.Knows(found->second.failure))) {
      return found->second.failure;
    }
    if (IsPending(variable->failure)) return *variable->failure;
  }
  for (const ThreadedVar* variable : next.opr->written) {
    const auto found = broken.arrays.find(variable);
    if (found != broken.arrays.end() && !next.Knows(found->second.failure)) return found->second.failure;
    if (IsPending(variable->failure)) return *variable->failure;
  }
  return IsPending(next.opr->failure) ? *next.opr->failure : nullptr;
}

void Mark(const ThreadedVar* variable, const std::exception_ptr& failure, bool is_lost, Broken* broken) {
  Reason& reason = broken->arrays[variable];
  reason = {failure, is_lost || (reason.failure && reason.is_lost)};
}

// Marks the arrays that a skipped operation leaves unwritten because of `failure`.
void MarkWritten(const ThreadedOpr& opr, const std::exception_ptr& failure, Broken* broken) {
  for (const ThreadedVar* variable : opr.written) {
    Mark(variable, failure, IsNew(*variable), broken);
  }
}

// Returns how many failures had been reported when an operation about to run was pushed.
size_t TakePushed(const ThreadedOpr* opr, Broken* broken) {
  const auto found = broken->n_reported_at_push.find(opr);
  if (found == broken->n_reported_at_push.end()) return 0;
  const size_t n_reported = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) broken->n_reported_at_push.erase(found);
  return n_reported;
}

void Follow(ThreadedOpr* opr) {
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  const Next next{opr, TakePushed(opr, &broken)};
  if (!has_failed || opr->property == kNoSkip) return;  // kNoSkip marks the end of a custom operator
  if (opr->property == kDeleteVar) {
    // "DeleteOperator" has the same property but leaves its variables unchanged.
    if (std::strcmp(opr->name, "DeleteVariable") != 0) return;
    broken.arrays.erase(opr->written.front());
    opr->written.front()->failure.reset();  // otherwise MXNet would skip the deletion too
    return;
  }
  ForgetIfKnown(next, opr->failure);
  for (const ThreadedVar* variable : opr->read) ForgetIfKnown(next, variable->failure);
  for (const ThreadedVar* variable : opr->written) ForgetIfKnown(next, variable->failure);
  if (const std::exception_ptr failure = FailureOf(next, broken)) {
    if (!AsFailure(failure)) return;  // MXNet skips it itself and reports the failure once
    MarkWritten(*opr, failure, &broken);
    if (!IsPending(opr->failure)) opr->failure = std::make_shared<std::exception_ptr>(failure);
  } else {
    for (const ThreadedVar* variable : opr->written) broken.arrays.erase(variable);
  }
}

void MarkFailed(const ThreadedVar* variable, const std::exception_ptr& failure, Broken* broken) {
  Mark(variable, failure, true, broken);
  // MXNet may run several operators as one operation, which ends here.
  if (variable->writing) MarkWritten(*variable->writing->trigger->opr, failure, broken);
  has_failed = true;
}

// Returns whether to track an operation. Before the first failure, an untracked operation knows everything: there is
// nothing to know. But MXNet keeps some operations and pushes them again, and their pushes must be distinguished.
bool IsNoted(const ThreadedOpr& opr) { return has_failed || !opr.is_temporary; }

void Push(Engine* engine, ThreadedOpr* opr, uint64_t context, int priority, bool is_profiled) {
  if (IsNoted(*opr)) {
    Broken& broken = TheBroken();
    std::lock_guard lock(broken.mutex);
    broken.n_reported_at_push[opr].push_back(broken.n_reported);
  }
  unwatched->Push(engine, opr, context, priority, is_profiled);
}

void PushToExecute(Engine* engine, OprBlock* block, bool is_pusher) {
  if (IsNoted(*block->opr)) Follow(block->opr);
  unwatched->PushToExecute(engine, block, is_pusher);
}

[[noreturn]] void RefuseInClass(const char* waits, const char* hint) {
  throw dmlc::Error(WithCode(kKernelError, Join("a class waits for ", waits, ", which waits for the class: ", hint)));
}

void RefuseInKernel() {
  if (is_in_kernel) {
    throw dmlc::Error(WithCode(kKernelError,
                               "a kernel waits for MXNet, which waits for the kernel: compute with the arrays that it "
                               "is given, in NumPy"));
  }
}

// Runs a wait of the engine and returns what it throws, or null.
template <typename Body>
std::exception_ptr Wait(const Body& body) {
  try {
    body();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void WaitForVar(Engine* engine, ThreadedVar* variable) {
  RefuseInKernel();
  if (being_written && std::count(being_written->begin(), being_written->end(), variable)) {
    RefuseInClass("its own result", "read what it has assigned to out_data or in_grad");
  }
  std::exception_ptr failure = Wait([&] { unwatched->WaitForVar(engine, variable); });
  if (!failure && !has_failed) return;
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  const auto found = broken.arrays.find(variable);
  if (found != broken.arrays.end() && (found->second.is_lost || !IsReported(found->second.failure))) {
    failure = found->second.failure;
  } else if (IsReported(failure)) {
    return;  // the array keeps its earlier value
  }
  if (!failure) return;
  SetReported(failure, &broken);
  auto& unreported = broken.unreported;
  unreported.erase(std::remove(unreported.begin(), unreported.end(), failure), unreported.end());
  std::rethrow_exception(failure);
}

void WaitForAll(Engine* engine) {
  RefuseInKernel();
  if (being_written) RefuseInClass("all of MXNet", "wait for the arrays that it needs, with array.wait_to_read()");
  std::exception_ptr failure = Wait([&] { unwatched->WaitForAll(engine); });
  if (!failure && !has_failed) return;
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  if (!broken.unreported.empty() && (!failure || IsReported(failure))) failure = broken.unreported.front();
  if (!failure) return;
  // MXNet has forgotten all other failures too.
  for (const auto& [variable, reason] : broken.arrays) {
    if (IsReported(failure) && !IsReported(reason.failure)) failure = reason.failure;
  }
  const bool is_reported = IsReported(failure);
  SetReported(failure, &broken);
  for (const auto& [variable, reason] : broken.arrays) SetReported(reason.failure, &broken);
  broken.unreported.clear();
  if (!is_reported) std::rethrow_exception(failure);
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
    // Change a copy, because other engines may share the table.
    auto* ours = new EngineTable(*table);
    ours->functions.WaitForVar = WaitForVar;
    ours->functions.WaitForAll = WaitForAll;
    ours->functions.Push = Push;
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
  std::lock_guard lock(broken.mutex);
  for (const void* array : arrays) MarkFailed(VariableOf(array), failure, &broken);
}

ResultScope::ResultScope(const std::vector<void*>& arrays) {
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  for (void* array : arrays) {
    const Array result = ReadIfDense(array);
    if (result.is_none) continue;
    data_.push_back(result.data);
    broken.results[result.data] = {VariableOf(array), this};
  }
}

ResultScope::~ResultScope() {
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  for (const void* data : data_) {
    // The next operator that writes to this memory may have begun.
    const auto found = broken.results.find(data);
    if (found != broken.results.end() && found->second.scope == this) broken.results.erase(found);
  }
}

bool MarkResultsBroken(const std::vector<const void*>& data, const std::exception_ptr& failure) {
  if (!is_watched) return false;
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  size_t n_marked = 0;
  for (const void* each : data) {
    const auto found = broken.results.find(each);
    if (found == broken.results.end()) continue;
    MarkFailed(found->second.variable, failure, &broken);
    ++n_marked;
  }
  if (n_marked == 0 || n_marked < data.size()) return false;
  broken.unreported.push_back(failure);
  return true;
}

ClassScope::ClassScope(const std::vector<const void*>& data) : outer_(being_written) {
  Broken& broken = TheBroken();
  std::lock_guard lock(broken.mutex);
  for (const void* each : data) {
    const auto found = broken.results.find(each);
    if (found != broken.results.end()) written_.push_back(found->second.variable);
  }
  being_written = &written_;
}

ClassScope::~ClassScope() { being_written = outer_; }

bool IsInClass() { return being_written; }

KernelScope::KernelScope() { is_in_kernel = true; }

KernelScope::~KernelScope() { is_in_kernel = false; }

}  // namespace pykernels::mxnet
