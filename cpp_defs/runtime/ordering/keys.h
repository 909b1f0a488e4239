// Numbers as unsigned keys that sort as NumPy sorts the numbers: NaN come last.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace {

template <int kBytes>
using Unsigned = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

template <typename T>
struct KeysOf {
  using Key = Unsigned<sizeof(T)>;
  static constexpr Key kSign = Key(Key{1} << (8 * sizeof(T) - 1));

  // Returns the key of a number. Keys of -0.0 and 0.0 differ.
  static Key Make(T number) {
    Key bits;
    std::memcpy(&bits, &number, sizeof(bits));
    if constexpr (std::is_floating_point_v<T>) {
      const Key flipped = (bits & kSign) != 0 ? Key(~bits) : Key(bits | kSign);
      return number != number ? std::numeric_limits<Key>::max() : flipped;
    } else {
      return std::is_signed_v<T> ? Key(bits ^ kSign) : bits;
    }
  }

  // Returns a key that is the same for -0.0 and 0.0.
  static Key MakeEqual(T number) {
    if constexpr (std::is_floating_point_v<T>) return Make(number == 0 ? T{0} : number);
    return Make(number);
  }

  static T Restore(Key key) {
    Key bits = key;
    if constexpr (std::is_floating_point_v<T>) {
      bits = (key & kSign) != 0 ? Key(key ^ kSign) : Key(~key);
    } else if (std::is_signed_v<T>) {
      bits = Key(key ^ kSign);
    }
    T number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  }
};

// What is ordered: keys alone, or keys with the places of their numbers.
template <typename Key_>
struct Alone {
  using Key = Key_;
  Key key;
};
template <typename Key_>
struct Placed {
  using Key = Key_;
  Key key;
  std::conditional_t<sizeof(Key_) == 8, int64_t, uint32_t> place;
};

}  // namespace
