#include "access.h"

#include <cstring>

#include "half.h"

namespace popart_cpu {
namespace {

// Calls body(index in the storage, number in the block) for elements [begin, begin + n).
template <typename Body>
void ForEach(const Access& access, std::size_t begin, std::size_t n, const Body& body) {
  const std::size_t rank = access.shape.size();
  std::vector<std::size_t> at(rank);
  int64_t index = access.offset;
  for (std::size_t i = rank, rest = begin; i-- > 0; rest /= access.shape[i]) {
    at[i] = rest % access.shape[i];
    index += access.strides[i] * static_cast<int64_t>(at[i]);
  }
  for (std::size_t done = 0; done < n;) {
    const std::size_t run = std::min(n - done, access.shape[rank - 1] - at[rank - 1]);
    const int64_t stride = access.strides[rank - 1];
    for (std::size_t k = 0; k < run; ++k) body(index + stride * static_cast<int64_t>(k), done + k);
    done += run;
    index += stride * static_cast<int64_t>(run);
    at[rank - 1] += run;
    for (std::size_t i = rank - 1; i > 0 && at[i] == access.shape[i]; --i) {
      index += access.strides[i - 1] - access.strides[i] * static_cast<int64_t>(access.shape[i]);
      at[i] = 0;
      ++at[i - 1];
    }
  }
}

template <typename T>
struct Plain {
  using InBlock = T;
  static T In(T value) { return value; }
  static T Out(T value) { return value; }
};

struct OfHalf {
  using InBlock = float;
  static float In(uint16_t value) { return HalfToFloat(value); }
  static uint16_t Out(float value) { return FloatToHalf(value); }
};

template <typename T, typename Conversion>
void LoadAs(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n, void* block) {
  auto* to = static_cast<typename Conversion::InBlock*>(block);
  if (access.kind == Access::Kind::kTable) {
    for (std::size_t k = 0; k < n; ++k) {
      const Access::Element& element = access.elements[begin + k];
      to[k] = Conversion::In(reinterpret_cast<const T*>(places[element.storage])[element.index]);
    }
    return;
  }
  const T* from = reinterpret_cast<const T*>(places[access.storage]);
  if (access.kind == Access::Kind::kDense) {
    from += access.offset + static_cast<int64_t>(begin);
    for (std::size_t k = 0; k < n; ++k) to[k] = Conversion::In(from[k]);
  } else if (access.kind == Access::Kind::kUniform) {
    const auto value = Conversion::In(from[access.offset]);
    for (std::size_t k = 0; k < n; ++k) to[k] = value;
  } else {
    ForEach(access, begin, n, [&](int64_t index, std::size_t k) { to[k] = Conversion::In(from[index]); });
  }
}

template <typename T, typename Conversion>
void StoreAs(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n,
             const void* block) {
  const auto* from = static_cast<const typename Conversion::InBlock*>(block);
  if (access.kind == Access::Kind::kTable) {
    for (std::size_t k = 0; k < n; ++k) {
      const Access::Element& element = access.elements[begin + k];
      reinterpret_cast<T*>(places[element.storage])[element.index] = Conversion::Out(from[k]);
    }
    return;
  }
  T* to = reinterpret_cast<T*>(places[access.storage]);
  if (access.kind == Access::Kind::kDense) {
    to += access.offset + static_cast<int64_t>(begin);
    for (std::size_t k = 0; k < n; ++k) to[k] = Conversion::Out(from[k]);
  } else if (access.kind == Access::Kind::kUniform) {
    to[access.offset] = Conversion::Out(from[n - 1]);
  } else {
    ForEach(access, begin, n, [&](int64_t index, std::size_t k) { to[index] = Conversion::Out(from[k]); });
  }
}

}  // namespace

bool Access::operator==(const Access& other) const {
  if (kind == Kind::kTable || other.kind == Kind::kTable) return false;
  return kind == other.kind && storage == other.storage && offset == other.offset && shape == other.shape &&
         strides == other.strides;
}

Access DenseAccess(poplar::Type type, int storage) { return {Access::Kind::kDense, type, storage, 0}; }

Access AccessOf(const View& view, int storage) {
  Access access{Access::Kind::kStrided, view.type, storage, view.offset};
  if (IsDense(view)) {
    access.kind = Access::Kind::kDense;
    return access;
  }
  // Dimensions that one step goes through are one.
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
  switch (access.type.size()) {
    case 1: return LoadAs<uint8_t, Plain<uint8_t>>(access, places, begin, n, block);
    case 2:
      if (access.type == poplar::HALF) return LoadAs<uint16_t, OfHalf>(access, places, begin, n, block);
      return LoadAs<uint16_t, Plain<uint16_t>>(access, places, begin, n, block);
    case 4: return LoadAs<uint32_t, Plain<uint32_t>>(access, places, begin, n, block);
    default: return LoadAs<uint64_t, Plain<uint64_t>>(access, places, begin, n, block);
  }
}

void Store(const Access& access, const std::vector<char*>& places, std::size_t begin, std::size_t n,
           const void* block) {
  switch (access.type.size()) {
    case 1: return StoreAs<uint8_t, Plain<uint8_t>>(access, places, begin, n, block);
    case 2:
      if (access.type == poplar::HALF) return StoreAs<uint16_t, OfHalf>(access, places, begin, n, block);
      return StoreAs<uint16_t, Plain<uint16_t>>(access, places, begin, n, block);
    case 4: return StoreAs<uint32_t, Plain<uint32_t>>(access, places, begin, n, block);
    default: return StoreAs<uint64_t, Plain<uint64_t>>(access, places, begin, n, block);
  }
}

char* InPlace(const Access& access, const std::vector<char*>& places, std::size_t begin) {
  if (access.kind != Access::Kind::kDense || access.type == poplar::HALF) return nullptr;
  const int64_t index = access.offset + static_cast<int64_t>(begin);
  return places[access.storage] + index * static_cast<int64_t>(access.type.size());
}

}  // namespace popart_cpu
