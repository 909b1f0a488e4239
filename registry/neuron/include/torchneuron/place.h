// The place of a call in the user's files.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace torchneuron {

struct Place {
  const char* file;
  int line;

  // As a default argument, returns the place of the call that omits it.
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Place{file, line};
  }
};

inline std::string at_place(Place place, const std::string& what) {
  return std::string(place.file) + ":" + std::to_string(place.line) + ": " + what;
}

// Throws an error at a place in the user's file; PyTorch raises it in Python as RuntimeError with a KernelError's code.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(Place place, const std::string& what) {
  throw std::runtime_error(at_place(place, what) + " [PK300]");
}

// An index and the place where it was written.
struct Index {
  long value;
  Place place;

  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>>
  constexpr Index(T value, Place place = Place::here()) : value(static_cast<long>(value)), place(place) {}
};

}  // namespace torchneuron
