// OneFlow 0.8 starts a graph, then records that it runs; the end of the run removes the record. A run of a few elements
// may end before it is recorded, and then OneFlow crashes or waits forever.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "../../parts.h"
#include "oneflow/core/framework/nn_graph_if.h"

namespace pykernels::oneflow {
namespace {

// The parts of OneFlow's objects that we use, as in version 0.8.0; each object begins with its virtual function table.
struct RunningGraphs {  // LazyJobDeviceCtx
  const void* functions;
  std::queue<std::weak_ptr<::oneflow::NNGraphIf>> queue;
  std::mutex mutex;
  std::condition_variable is_empty;
};
struct GraphStream {
  char other[56];
  RunningGraphs* running;
};
struct GraphOperand {  // LaunchLazyJobPhyInstrOperand
  const void* functions;
  void* other;
  std::shared_ptr<::oneflow::NNGraphIf> graph;
};
struct LaunchType;
struct Instruction {
  char other[168];
  GraphStream* stream;
  const LaunchType* type;
  GraphOperand* operand;
};
struct LaunchType {  // LaunchLazyJobInstructionType
  void* const* functions;
};
static_assert(sizeof(RunningGraphs) == 176 && sizeof(GraphOperand) == 32 && sizeof(void*) == 8, "OneFlow's layout");

using Launch = void (*)(const LaunchType*, Instruction*);

Launch the_launch = nullptr;
const void* the_running_functions = nullptr;
const void* the_operand_functions = nullptr;

// Waits until the runs of another graph end, as OneFlow does before it starts a graph.
void WaitForOthers(const std::shared_ptr<::oneflow::NNGraphIf>& graph, std::unique_lock<std::mutex>* lock,
                   RunningGraphs* running) {
  if (running->queue.empty()) return;
  const std::weak_ptr<::oneflow::NNGraphIf>& first = running->queue.front();
  const bool is_other = first.owner_before(graph) || graph.owner_before(first);
  if (is_other && !first.expired()) running->is_empty.wait(*lock, [&] { return running->queue.empty(); });
}

// Calls OneFlow's own function while a second record of the run exists. The end of a run removes the first record,
// whichever run it belongs to, so only the number of records matters.
void LaunchNoted(const LaunchType* type, Instruction* instruction) {
  RunningGraphs* running = instruction->stream->running;
  const GraphOperand* operand = instruction->operand;
  if (instruction->type != type || running->functions != the_running_functions ||
      operand->functions != the_operand_functions) {
    return the_launch(type, instruction);
  }
  {
    const std::shared_ptr<::oneflow::NNGraphIf> graph = operand->graph;
    std::unique_lock<std::mutex> lock(running->mutex);
    WaitForOthers(graph, &lock, running);
    running->queue.emplace(graph);
  }
  the_launch(type, instruction);
  // The run may have ended, and freed `instruction`. Notify nobody: only this thread starts graphs.
  std::lock_guard<std::mutex> lock(running->mutex);
  running->queue.pop();
}

void* Find(const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); }

// Returns the functions of a class as its objects point to them: after two words about the class.
void** FunctionsOf(void* table) { return table ? static_cast<void**>(table) + 2 : nullptr; }

}  // namespace

void NoteRunsEarly() {
  void* launch = Find("_ZNK7oneflow2vm28LaunchLazyJobInstructionType7ComputeEPNS0_11InstructionE");
  void* find_type =
      Find("_ZN7oneflow14private_detail18GlobalSingletonPtrINS_2vm28LaunchLazyJobInstructionTypeEEEPKT_v");
  void** table = static_cast<void**>(Find("_ZTVN7oneflow2vm28LaunchLazyJobInstructionTypeE"));
  the_running_functions = FunctionsOf(Find("_ZTVN7oneflow2vm16LazyJobDeviceCtxE"));
  the_operand_functions = FunctionsOf(Find("_ZTVN7oneflow2vm28LaunchLazyJobPhyInstrOperandE"));
  if (!launch || !find_type || !table || !the_running_functions || !the_operand_functions) return;
  auto* type = reinterpret_cast<LaunchType* (*)()>(find_type)();
  if (type->functions != FunctionsOf(table)) return;  // another registrar in this process has already replaced them
  Dl_info library;
  void* symbol = nullptr;
  if (!dladdr1(table, &library, &symbol, RTLD_DL_SYMENT) || !symbol) return;
  const size_t size = static_cast<const ElfW(Sym)*>(symbol)->st_size;
  // Never deleted: OneFlow's threads may outlive static objects.
  auto* ours = new std::vector<void*>(table, table + size / sizeof(void*));
  const auto slot = std::find(ours->begin() + 2, ours->end(), launch);
  if (slot == ours->end()) return;
  the_launch = reinterpret_cast<Launch>(launch);
  *slot = reinterpret_cast<void*>(LaunchNoted);
  // Switch atomically, because other threads use it.
  __atomic_store_n(&type->functions, FunctionsOf(ours->data()), __ATOMIC_RELEASE);
}

}  // namespace pykernels::oneflow
