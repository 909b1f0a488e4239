// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace poplar {

class Type {
 public:
  // In the order of the table in dtype.cpp.
  enum class Kind : unsigned char {
    None,
    Float,
    Half,
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    LongLong,
    UnsignedLongLong,
  };

  constexpr Type() : kind_(Kind::None) {}
  constexpr explicit Type(Kind kind) : kind_(kind) {}

  constexpr Kind kind() const { return kind_; }
  std::string toString() const;
  std::size_t size() const;  // of an element, in bytes

  constexpr bool operator==(Type other) const { return kind_ == other.kind_; }
  constexpr bool operator!=(Type other) const { return kind_ != other.kind_; }
  constexpr bool operator<(Type other) const { return kind_ < other.kind_; }

 private:
  Kind kind_;
};

std::ostream& operator<<(std::ostream& stream, Type type);

constexpr Type FLOAT{Type::Kind::Float};
constexpr Type HALF{Type::Kind::Half};
constexpr Type BOOL{Type::Kind::Bool};
constexpr Type CHAR{Type::Kind::Char};
constexpr Type SIGNED_CHAR{Type::Kind::SignedChar};
constexpr Type UNSIGNED_CHAR{Type::Kind::UnsignedChar};
constexpr Type SHORT{Type::Kind::Short};
constexpr Type UNSIGNED_SHORT{Type::Kind::UnsignedShort};
constexpr Type INT{Type::Kind::Int};
constexpr Type UNSIGNED_INT{Type::Kind::UnsignedInt};
constexpr Type LONG{Type::Kind::LongLong};
constexpr Type UNSIGNED_LONG{Type::Kind::UnsignedLongLong};
constexpr Type LONGLONG{Type::Kind::LongLong};
constexpr Type UNSIGNED_LONGLONG{Type::Kind::UnsignedLongLong};

// Returns the type on the device for a C++ type; double becomes FLOAT.
template <typename T>
struct equivalent_device_type;

#define POPART_CPU_DEVICE_TYPE(cpp, device) \
  template <>                               \
  struct equivalent_device_type<cpp> {      \
    Type value = device;                    \
    operator Type() const { return value; } \
  }
POPART_CPU_DEVICE_TYPE(float, FLOAT);
POPART_CPU_DEVICE_TYPE(double, FLOAT);
POPART_CPU_DEVICE_TYPE(long double, FLOAT);
POPART_CPU_DEVICE_TYPE(bool, BOOL);
POPART_CPU_DEVICE_TYPE(char, CHAR);
POPART_CPU_DEVICE_TYPE(signed char, SIGNED_CHAR);
POPART_CPU_DEVICE_TYPE(unsigned char, UNSIGNED_CHAR);
POPART_CPU_DEVICE_TYPE(short, SHORT);
POPART_CPU_DEVICE_TYPE(unsigned short, UNSIGNED_SHORT);
POPART_CPU_DEVICE_TYPE(int, INT);
POPART_CPU_DEVICE_TYPE(unsigned int, UNSIGNED_INT);
POPART_CPU_DEVICE_TYPE(long, LONGLONG);
POPART_CPU_DEVICE_TYPE(unsigned long, UNSIGNED_LONGLONG);
POPART_CPU_DEVICE_TYPE(long long, LONGLONG);
POPART_CPU_DEVICE_TYPE(unsigned long long, UNSIGNED_LONGLONG);
#undef POPART_CPU_DEVICE_TYPE

}  // namespace poplar
