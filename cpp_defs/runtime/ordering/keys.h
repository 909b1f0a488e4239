// Numbers as keys, which are integers that sort as NumPy sorts the numbers: NaN come last.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

template <typename T>
struct KeysOf {
  // Vectors of integers with a sign are compared fastest.
  using Key = std::conditional_t<
      sizeof(T) == 1, int8_t,
      std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
  static constexpr Key kLargest = std::numeric_limits<Key>::max();
  // Whether the bits of each number are its key.
  static constexpr bool kAreBits = std::is_integral_v<T> && std::is_signed_v<T>;

  // Returns the key of a number, given its bits. Keys of -0.0 and 0.0 differ.
  static Key Make(Key bits) {
    if constexpr (std::is_floating_point_v<T>) {
      return (bits & kLargest) > kInfinity ? kLargest : Turn(bits);
    } else {
      return kAreBits ? bits : Key(bits ^ std::numeric_limits<Key>::min());
    }
  }

  // Returns a key that is the same for -0.0 and 0.0.
  static Key MakeEqual(Key bits) {
    return std::is_floating_point_v<T> && (bits & kLargest) == 0 ? 0 : Make(bits);
  }

  // Returns the bits of the number that has this key.
  static Key Restore(Key key) {
    if constexpr (std::is_floating_point_v<T>) return Turn(key);
    return kAreBits ? key : Key(key ^ std::numeric_limits<Key>::min());
  }

 private:
  static constexpr Key kInfinity = sizeof(T) == 4 ? Key{0xff} << 23 : Key{0x7ff} << 52;
  // The bits of negative floating-point numbers increase with their size.
  static Key Turn(Key bits) { return bits < 0 ? Key(bits ^ kLargest) : bits; }
};

}  // namespace
