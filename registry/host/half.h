// 16-bit floats, IEEE 754 binary16 and bfloat16, converted without branches so that loops vectorize.
#pragma once

#include <cstdint>
#include <cstring>

namespace pykernels {

inline float FloatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(half & 0x7fffu) << 13;
  // The bits as a float have too small an exponent; the multiplication corrects it, also for subnormal numbers.
  const float scaled = FloatFromBits(rest) * FloatFromBits((254u - 15u) << 23);
  const uint32_t bits = rest >= 0x7c00u << 13 ? rest | 0x7f800000u : BitsOf(scaled);
  return FloatFromBits(sign | bits);
}

// Rounds to the nearest half, ties to even.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 makes the processor round to multiples of 2^-24.
  const uint32_t subnormal = BitsOf(FloatFromBits(magnitude) + 0.5f) - BitsOf(0.5f);
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t finite = magnitude < 113u << 23 ? subnormal : normal;
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (magnitude >= 0x477ff000u ? special : finite));
}

// A bfloat16 is the upper half of a float.
inline float BfloatToFloat(uint16_t half) { return FloatFromBits(static_cast<uint32_t>(half) << 16); }

// Rounds to the nearest bfloat16, ties to even.
inline uint16_t FloatToBfloat(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>(is_nan ? bits >> 16 | 0x40u : nearest);
}

}  // namespace pykernels
