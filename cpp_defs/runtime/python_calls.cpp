// Calls of Python in compiled kernels (kernel/python_calls.py): linked only into kernels that have them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

extern "C" {

void* NRT_MemInfo_alloc_aligned(std::size_t size, unsigned alignment);
void* NRT_MemInfo_data_fast(void* info);
void* NRT_MemInfo_new(void* data, std::size_t size, void (*destructor)(void*, std::size_t, void*), void* info);

// What the kernel needs of Python; its headers may be missing.
struct pk_python {
  int (*ensure)();
  void (*release)(int state);
  void* (*new_bytes)(const char* data, std::ptrdiff_t size);
  void* (*call)(void* callable, ...);
  void* (*item)(void* tuple, std::ptrdiff_t at);
  void (*add_reference)(void* object);
  void (*drop_reference)(void* object);
  void (*clear_error)();
};

static pk_python python;
static void* makers;
static void* none;
static std::int64_t fewest_bytes;

// `making[call](arguments)` makes a call of the kernel, and returns a tuple of arrays, one for each array and number of
// the result; `nothing`, which is None, if it failed, and then the process keeps the reason. Arrays of at least so many
// bytes become the kernel's; it copies others.
__attribute__((visibility("default"))) void pk_kernel_set_python(const pk_python* functions, void* making,
                                                                 void* nothing, std::int64_t bytes) {
  python = *functions;
  makers = making;
  none = nothing;
  fewest_bytes = bytes;
}

// The beginning of an array of NumPy (PyArrayObject_fields).
struct Array {
  std::ptrdiff_t references;
  void* type;
  char* data;
  int ndim;
  std::intptr_t* lengths;
};

static void Drop(void* /*data*/, std::size_t /*size*/, void* array) {
  const int state = python.ensure();
  python.drop_reference(array);
  python.release(state);
}

// Returns a block with the elements of an array; null if there is no memory.
static void* BlockOf(Array* array, std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size);
  if (size >= fewest_bytes) {
    void* const info = NRT_MemInfo_new(array->data, bytes, Drop, array);
    if (info != nullptr) python.add_reference(array);
    return info;
  }
  void* const info = NRT_MemInfo_alloc_aligned(bytes, 64);
  if (info != nullptr) std::memcpy(NRT_MemInfo_data_fast(info), array->data, bytes);
  return info;
}

// Replaces the descriptions of results by the results of a tuple; returns 0 if there is no memory.
static std::int32_t Take(void* tuple, std::int64_t* results, std::int64_t count) {
  std::int64_t* place = results;
  for (std::int64_t i = 0; i < count; ++i) {
    auto* const array = static_cast<Array*>(python.item(tuple, i));
    const std::int64_t item = place[0], ndim = place[1];
    if (ndim < 0) {
      std::memcpy(place, array->data, static_cast<std::size_t>(item));
      place += 2;
      continue;
    }
    std::int64_t size = item;
    for (int axis = 0; axis < array->ndim; ++axis) size *= array->lengths[axis];
    void* const block = BlockOf(array, size);
    if (block == nullptr) return 0;
    place[0] = reinterpret_cast<std::intptr_t>(block);
    place[1] = reinterpret_cast<std::intptr_t>(NRT_MemInfo_data_fast(block));
    for (int axis = 0; axis < array->ndim; ++axis) place[2 + axis] = array->lengths[axis];
    place += 2 + array->ndim;
  }
  return 1;
}

// Makes call number `call` of the kernel and returns 1; 0 if it failed.
// arguments: for each array its address, shape and strides; for each number its address.
// results: for each of `count` results, the size of an element, and the number of axes, -1 of a number; then for each
// array its block, its address and its shape; for each number its value, in two words.
std::int32_t pk_call_python(std::int64_t call, const std::int64_t* arguments, std::int64_t words, std::int64_t* results,
                            std::int64_t count) {
  const int state = python.ensure();
  void* const given = python.new_bytes(reinterpret_cast<const char*>(arguments), words * 8);
  void* const made = given != nullptr ? python.call(python.item(makers, call), given, nullptr) : nullptr;
  const std::int32_t is_done = made != nullptr && made != none ? Take(made, results, count) : 0;
  if (made == nullptr) python.clear_error();
  for (void* const object : {given, made}) {
    if (object != nullptr) python.drop_reference(object);
  }
  python.release(state);
  return is_done;
}

}  // extern "C"
