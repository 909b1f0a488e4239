// The layout of a view's elements in memory, and copies of them to and from blocks.
#pragma once

#include <cstdint>
#include <vector>

#include <poplar/Type.hpp>

#include "view.h"

namespace popart_cpu {

struct Access {
  enum class Kind { kDense, kUniform, kStrided, kTable };
  struct Element {
    int storage;
    int64_t index;
  };

  Kind kind;
  poplar::Type type;
  int storage;
  int64_t offset;
  std::vector<std::size_t> shape{};    // for kStrided
  std::vector<int64_t> strides{};      // in elements
  std::vector<Element> elements{};     // for kTable
};

// Returns the layout of a view of a variable that is in a storage, and of a contiguous one.
Access AccessOf(const View& view, int storage);
Access DenseAccess(poplar::Type type, int storage);

// Copy elements [begin, begin + n) between a view and `block`, which holds halves as floats. `places` are the storages.
void Load(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, void* block);
void Store(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, const void* block);

// Returns the address of the elements from `begin` on if kernels can use them in place; otherwise null.
char* InPlace(const Access& access, const std::vector<char*>& places, std::size_t begin);

}  // namespace popart_cpu
