// Numbers of 16 bits.
#pragma once

#include <cstdint>

namespace popart {

class Half {
 public:
  Half() : bits_(0) {}
  Half(float value);
  operator float() const;

 private:
  uint16_t bits_;
};

using float16_t = Half;

}  // namespace popart
