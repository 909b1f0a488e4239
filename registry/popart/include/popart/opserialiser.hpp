// What ops write their attributes to, for PopART's cache of executables; unused here.
#pragma once

#include <string>

namespace popart {

class OpSerialiserBase {
 public:
  template <typename T>
  void appendAttribute(const std::string&, const T&) {}
};

}  // namespace popart
