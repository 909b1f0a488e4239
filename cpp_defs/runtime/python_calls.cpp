// Calls of Python in compiled kernels (kernel/python_calls.py): linked only into kernels that have them.
#include <cstddef>
#include <cstdint>

extern "C" {

void* NRT_MemInfo_alloc_aligned(std::size_t size, unsigned alignment);
void* NRT_MemInfo_data_fast(void* info);
void* NRT_MemInfo_new(void* data, std::size_t size, void (*destructor)(void*, std::size_t, void*), void* info);
void NRT_MemInfo_call_dtor(void* info);

// Makes call number `call` of the kernel and returns 1; 0 if it failed, and then the process keeps the reason.
// arguments: for each array its address, shape and strides; for each number its address.
// results: for each array its block, its address and its shape; for each number its value, in two words.
using PythonCall = std::int32_t (*)(std::int64_t call, const std::int64_t* arguments, std::int64_t* results);

// Tells the process that the kernel no longer uses an array of its.
using PythonDrop = void (*)(std::int64_t number);

static PythonCall python;
static PythonDrop drop;

static void Drop(void* /*data*/, std::size_t /*size*/, void* number) { drop(reinterpret_cast<std::intptr_t>(number)); }

__attribute__((visibility("default"))) void pk_kernel_set_python(PythonCall call, PythonDrop dropping) {
  python = call;
  drop = dropping;
}

// Makes a block of the memory of an array, which the process keeps until the block is free.
__attribute__((visibility("default"))) void* pk_kernel_adopt(void* data, std::int64_t size, std::int64_t number) {
  return NRT_MemInfo_new(data, static_cast<std::size_t>(size), Drop, reinterpret_cast<void*>(number));
}

// Allocates the block of an array of results, and returns null if there is no memory.
__attribute__((visibility("default"))) void* pk_kernel_allocate(std::int64_t size, void** data) {
  void* info = NRT_MemInfo_alloc_aligned(static_cast<std::size_t>(size), 64);
  *data = info != nullptr ? NRT_MemInfo_data_fast(info) : nullptr;
  return info;
}

__attribute__((visibility("default"))) void pk_kernel_release(void* info) { NRT_MemInfo_call_dtor(info); }

std::int32_t pk_call_python(std::int64_t call, const std::int64_t* arguments, std::int64_t* results) {
  return python(call, arguments, results);
}

}  // extern "C"
