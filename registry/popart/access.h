// How the elements of a view lie in memory, and how they are brought into blocks and back.
#ifndef PYKERNELS_REGISTRY_POPART_ACCESS_H_
#define PYKERNELS_REGISTRY_POPART_ACCESS_H_

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
  std::vector<std::size_t> shape{};    // of kStrided
  std::vector<int64_t> strides{};      // in elements
  std::vector<Element> elements{};     // of kTable

  bool operator==(const Access& other) const;
};

// Of a view of a variable, that is in a storage.
Access AccessOf(const View& view, int storage);
Access DenseAccess(poplar::Type type, int storage);

// Elements [begin, begin + n) of a view; `block` has halves as floats. `places` are the storages.
void Load(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, void* block);
void Store(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, const void* block);

// The elements from `begin` on, if kernels can use them where they are; else null.
char* InPlace(const Access& access, const std::vector<char*>& places, std::size_t begin);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_ACCESS_H_
