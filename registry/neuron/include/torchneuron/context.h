// The state of a kernel function while it runs on one core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "torchneuron/place.h"

namespace torch {

// What to do when a stream accessor meets another open one of the same tensor and one of them writes.
struct CoherencyEnforcer {
  enum Policy { COHERENT, INCOHERENT_VERBOSE, INCOHERENT_QUIET };
};

}  // namespace torch

namespace torchneuron {

// The size in bytes of a core's tightly coupled memory, and of the part that an open stream accessor takes if
// available.
constexpr size_t kTcmSize = 16 * 1024;
constexpr size_t kStreamBuffer = 4 * 1024;

// An allocation followed by a guard area that nobody may write.
struct TcmBlock {
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kMark = 0xA5;

  unsigned char* memory;
  size_t size;
  Place place;

  bool overrun() const {
    for (size_t i = size; i < size + kGuard; ++i) {
      if (memory[i] != kMark) { return true; }
    }
    return false;
  }
};

// An open stream accessor and the data that it accesses.
struct OpenStream {
  const void* accessor;
  const void* data;
  bool writes;
};

// One call of a kernel function. Subclasses provide the output tensor.
class Call {
 public:
  Call(uint32_t cpu_id, uint32_t cpu_count) : cpu_id(cpu_id), cpu_count(cpu_count) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() {
    for (TcmBlock& block : blocks) { std::free(block.memory); }
  }

  // Returns the output for get_dst_tensor(); it points to an at::Tensor.
  virtual const void* output() = 0;

  TcmBlock* find(const void* pointer) {
    const auto* address = static_cast<const unsigned char*>(pointer);
    for (TcmBlock& block : blocks) {
      if (address >= block.memory && address <= block.memory + block.size) { return &block; }
    }
    return nullptr;
  }

  const uint32_t cpu_id;
  const uint32_t cpu_count;
  size_t tcm_used = 0;
  std::vector<TcmBlock> blocks;
  std::vector<OpenStream> streams;
  std::vector<std::pair<const void*, torch::CoherencyEnforcer::Policy>> policies;
};

// Returns this thread's current call, or null. It is the only state that a library's kernel and shape functions share.
extern "C" Call** torchneuron_call();

inline Call& current_call(const char* what, Place place = Place::here()) {
  Call* call = *torchneuron_call();
  if (call == nullptr) { fail(place, std::string(what) + " is for kernel functions, in the thread that calls them"); }
  return *call;
}

}  // namespace torchneuron

namespace torch::neuron {

// Allocates memory of the core; returns null if too little is left.
inline void* tcm_malloc(size_t nbytes, torchneuron::Place place = torchneuron::Place::here()) {
  torchneuron::Call& call = torchneuron::current_call("tcm_malloc()", place);
  if (nbytes > torchneuron::kTcmSize - call.tcm_used) { return nullptr; }
  auto* memory = static_cast<unsigned char*>(std::malloc(nbytes + torchneuron::TcmBlock::kGuard));
  if (memory == nullptr) { throw std::bad_alloc(); }
  std::memset(memory + nbytes, torchneuron::TcmBlock::kMark, torchneuron::TcmBlock::kGuard);
  call.blocks.push_back({memory, nbytes, place});
  call.tcm_used += nbytes;
  return memory;
}

inline void tcm_free(void* pointer, torchneuron::Place place = torchneuron::Place::here()) {
  if (pointer == nullptr) { return; }
  torchneuron::Call& call = torchneuron::current_call("tcm_free()", place);
  for (auto block = call.blocks.begin(); block != call.blocks.end(); ++block) {
    if (block->memory != pointer) { continue; }
    const torchneuron::TcmBlock freed = *block;
    const bool overrun = freed.overrun();
    std::free(freed.memory);
    call.blocks.erase(block);
    call.tcm_used -= freed.size;
    if (overrun) {
      torchneuron::fail(freed.place, "something was written behind the end of this buffer of " +
                                         std::to_string(freed.size) + " bytes");
    }
    return;
  }
  torchneuron::fail(place, "tcm_free() of memory that tcm_malloc() did not give, or that has been freed");
}

}  // namespace torch::neuron
