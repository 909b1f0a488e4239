// Where in the user's files something was called.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace torchneuron {

struct Place {
  const char* file;
  int line;

  // As a default argument: the place of the call that leaves it out.
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Place{file, line};
  }
};

inline std::string at_place(Place place, const std::string& what) {
  return std::string(place.file) + ":" + std::to_string(place.line) + ": " + what;
}

// An error in the words of the user's file, which PyTorch raises in Python as RuntimeError: a KernelError by its code.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(Place place, const std::string& what) {
  throw std::runtime_error(at_place(place, what) + " [PK300]");
}

// An index, with the place where it was written.
struct Index {
  long value;
  Place place;

  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>>
  constexpr Index(T value, Place place = Place::here()) : value(static_cast<long>(value)), place(place) {}
};

}  // namespace torchneuron
