#include "registry.h"

#include <dlfcn.h>

#include <cstdlib>
#include <deque>
#include <mutex>

namespace popart_cpu {
namespace {

using popart::OperatorIdentifier;

struct RegisteredOpx {
  OperatorIdentifier opid;
  popart::popx::OpxManager::OpxFactoryFunc make;
  std::string library;
};

struct Registry {
  std::mutex mutex;
  std::deque<RegisteredOp> ops;
  std::deque<RegisteredOpx> opxs;
};

// Never deleted: libraries register while they load, and nodes use the registry until the process ends.
Registry& Get() {
  static auto* registry = new Registry;
  return *registry;
}

}  // namespace

std::string RealPath(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  const std::string found = real ? real : path;
  std::free(real);
  return found;
}

std::string LibraryOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? RealPath(info.dli_fname) : "";
}

std::vector<const RegisteredOp*> OpsOf(const std::string& library) {
  Registry& registry = Get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<const RegisteredOp*> found;
  for (const RegisteredOp& each : registry.ops) {
    if (each.library != library) continue;
    for (const RegisteredOp* other : found) {
      if (other->opid == each.opid) throw popart::error("{} registers {} twice", library, each.opid);
    }
    found.push_back(&each);
  }
  if (!found.empty()) return found;
  for (const RegisteredOpx& each : registry.opxs) {
    if (each.library == library) {
      throw popart::error("{} registers an Opx for {}, but no op: a static popart::OpCreator is missing", library,
                          each.opid);
    }
  }
  throw popart::error("{} registers no op: a static popart::OpCreator is missing", library);
}

popart::popx::OpxManager::OpxFactoryFunc FindOpx(const OperatorIdentifier& opid, const std::string& library) {
  Registry& registry = Get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const RegisteredOpx* found = nullptr;
  for (const RegisteredOpx& each : registry.opxs) {
    if (each.opid == opid && (!found || each.library == library || found->library != library)) found = &each;
  }
  if (!found) throw popart::error("no Opx is registered for {}: a static popart::popx::OpxCreator is missing", opid);
  return found->make;
}

}  // namespace popart_cpu

namespace popart {

using popart_cpu::Get;
using popart_cpu::LibraryOf;

void OpManager::registerOp(const OperatorIdentifier& opid, const OpDefinition& definition,
                           OpFactoryFunc function) noexcept {
  const std::string library = LibraryOf(__builtin_return_address(0));
  std::lock_guard<std::mutex> lock(Get().mutex);
  Get().ops.push_back({opid, definition, std::move(function), library});
}

void popx::OpxManager::registerOpx(const OperatorIdentifier& opid, OpxFactoryFunc function) noexcept {
  const std::string library = LibraryOf(__builtin_return_address(0));
  std::lock_guard<std::mutex> lock(Get().mutex);
  Get().opxs.push_back({opid, std::move(function), library});
}

}  // namespace popart
