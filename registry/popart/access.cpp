#include "access.h"

#include <algorithm>

#include "../host/half.h"

namespace popart_cpu {
namespace {

// Calls body(element, position in the block) for elements [begin, begin + n) of type T.
template <typename T, typename Body>
void ForEach(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n,
             const Body& body) {
  if (access.kind == Access::Kind::kTable) {
    for (std::size_t k = 0; k < n; ++k) {
      const Access::Element& element = access.elements[begin + k];
      body(reinterpret_cast<T*>(places[element.storage])[element.index], k);
    }
    return;
  }
  T* data = reinterpret_cast<T*>(places[access.storage]) + access.offset;
  if (access.kind == Access::Kind::kDense) {
    data += begin;
    for (std::size_t k = 0; k < n; ++k) body(data[k], k);
    return;
  }
  if (access.kind == Access::Kind::kUniform) {
    for (std::size_t k = 0; k < n; ++k) body(*data, k);
    return;
  }
  const std::size_t last = access.shape.size() - 1;
  std::vector<std::size_t> at(last + 1);
  for (std::size_t i = last + 1, rest = begin; i-- > 0; rest /= access.shape[i]) {
    at[i] = rest % access.shape[i];
    data += access.strides[i] * static_cast<int64_t>(at[i]);
  }
  for (std::size_t done = 0; done < n;) {
    const std::size_t run = std::min(n - done, access.shape[last] - at[last]);
    const int64_t stride = access.strides[last];
    for (std::size_t k = 0; k < run; ++k) body(data[stride * static_cast<int64_t>(k)], done + k);
    done += run;
    data += stride * static_cast<int64_t>(run);
    at[last] += run;
    for (std::size_t i = last; i > 0 && at[i] == access.shape[i]; --i) {
      data += access.strides[i - 1] - access.strides[i] * static_cast<int64_t>(access.shape[i]);
      at[i] = 0;
      ++at[i - 1];
    }
  }
}

// Calls use(an element in memory, its conversion for blocks, and back) for the type of an access.
template <typename Use>
void ForType(const Access& access, const Use& use) {
  const auto same = [](auto value) { return value; };
  const auto to_float = [](uint16_t half) { return pykernels::HalfToFloat(half); };
  const auto to_half = [](float value) { return pykernels::FloatToHalf(value); };
  if (access.type == poplar::HALF) return use(uint16_t(), to_float, to_half);
  switch (access.type.size()) {
    case 1: return use(uint8_t(), same, same);
    case 2: return use(uint16_t(), same, same);
    case 4: return use(uint32_t(), same, same);
    default: return use(uint64_t(), same, same);
  }
}

}  // namespace

Access DenseAccess(poplar::Type type, int storage) { return {Access::Kind::kDense, type, storage, 0}; }

Access AccessOf(const View& view, int storage) {
  Access access{Access::Kind::kStrided, view.type, storage, view.offset};
  if (IsDense(view)) {
    access.kind = Access::Kind::kDense;
    return access;
  }
  // Merge dimensions that a single stride covers.
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    const int64_t through = view.strides[i] * static_cast<int64_t>(view.shape[i]);
    if (!access.shape.empty() && access.strides.back() == through) {
      access.shape.back() *= view.shape[i];
      access.strides.back() = view.strides[i];
    } else {
      access.shape.push_back(view.shape[i]);
      access.strides.push_back(view.strides[i]);
    }
  }
  if (access.shape.size() == 1 && access.strides[0] == 0) access.kind = Access::Kind::kUniform;
  return access;
}

void Load(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, void* block) {
  ForType(access, [&](auto item, const auto& convert, const auto&) {
    using T = decltype(item);
    auto* to = static_cast<decltype(convert(item))*>(block);
    ForEach<const T>(access, places, begin, n, [&](const T& element, std::size_t k) { to[k] = convert(element); });
  });
}

void Store(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n,
           const void* block) {
  ForType(access, [&](auto item, const auto& convert, const auto& convert_back) {
    using T = decltype(item);
    const auto* from = static_cast<const decltype(convert(item))*>(block);
    ForEach<T>(access, places, begin, n, [&](T& element, std::size_t k) { element = convert_back(from[k]); });
  });
}

char* InPlace(const Access& access, const std::vector<char*>& places, std::size_t begin) {
  if (access.kind != Access::Kind::kDense || access.type == poplar::HALF) return nullptr;
  const int64_t index = access.offset + static_cast<int64_t>(begin);
  return places[access.storage] + index * static_cast<int64_t>(access.type.size());
}

}  // namespace popart_cpu
