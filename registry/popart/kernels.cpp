#include "kernels.h"

#include <cstdint>

#include "functions.h"

namespace popart_cpu {
namespace {

using poplar::Type;

// Loops of a function over blocks.
template <typename F, typename T>
void Loop1(void* out, const void* a, const void*, const void*, std::size_t n) {
  auto* __restrict to = static_cast<decltype(F()(T()))*>(out);
  const auto* x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i]);
}

template <typename F, typename T>
void Loop2(void* out, const void* a, const void* b, const void*, std::size_t n) {
  auto* __restrict to = static_cast<decltype(F()(T(), T()))*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i], y[i]);
}

template <typename F, typename T, typename Last>
void Loop3(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  const auto* z = static_cast<const Last*>(c);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i], y[i], z[i]);
}

template <typename F>
Kernel Find1(Type type) {
  return ForType<F>(type, [](auto t) -> Kernel { return &Loop1<F, decltype(t)>; });
}
template <typename F>
Kernel Find2(Type type) {
  return ForType<F>(type, [](auto t) -> Kernel { return &Loop2<F, decltype(t)>; });
}

// Return an operator with a function of one operand, or of two.
template <typename F, typename... Operands>
constexpr Operator Row(const char* name, Kernel (*find)(Type)) {
  constexpr bool takes_truths = !F::kFloats && !F::kIntegers;
  return {name, find, takes_truths, std::is_same<decltype(F()(Operands()...)), Truth>::value, false};
}
template <typename F>
constexpr Operator Unary(const char* name) {
  return Row<F, Example<F>>(name, &Find1<F>);
}
template <typename F>
constexpr Operator Binary(const char* name) {
  return Row<F, Example<F>, Example<F>>(name, &Find2<F>);
}

Kernel FindClamp(Type type) {
  using functions::Clamp;
  return ForType<Clamp>(type, [](auto t) -> Kernel { return &Loop3<Clamp, decltype(t), decltype(t)>; });
}

Kernel FindSelect(Type type) {
  using functions::Select;
  return ForType<Select>(type, [](auto t) -> Kernel { return &Loop3<Select, decltype(t), Truth>; });
}

#define POPART_CPU_UNARY(OP, Class, function) Unary<functions::Class>(#OP),
#define POPART_CPU_BINARY(OP, Class, function) Binary<functions::Class>(#OP),
constexpr Operator kUnary[] = {POPART_CPU_UNARY_OPERATORS(POPART_CPU_UNARY)};
constexpr Operator kBinary[] = {POPART_CPU_BINARY_OPERATORS(POPART_CPU_BINARY)};

}  // namespace

const Operator& OperatorOf(popops::expr::UnaryOpType type) { return kUnary[static_cast<int>(type)]; }

const Operator& OperatorOf(popops::expr::BinaryOpType type) { return kBinary[static_cast<int>(type)]; }

const Operator& OperatorOf(popops::expr::TernaryOpType type) {
  static constexpr Operator kClamp{"CLAMP", &FindClamp, false, false, false};
  static constexpr Operator kSelect{"SELECT", &FindSelect, false, false, true};
  return type == popops::expr::TernaryOpType::CLAMP ? kClamp : kSelect;
}

Kernel FindCast(Type from, Type to) {
  using functions::Cast;
  using functions::RoundToHalf;
  if (to == poplar::HALF && (from == poplar::FLOAT || from == poplar::HALF)) return &Loop1<RoundToHalf, float>;
  return ForType<TakesAll>(from, [to](auto f) {
    return ForType<TakesAll>(to, [](auto t) -> Kernel { return &Loop1<Cast<decltype(t)>, decltype(f)>; });
  });
}

std::size_t SizeInBlock(Type type) { return type == poplar::HALF ? sizeof(float) : type.size(); }

}  // namespace popart_cpu
