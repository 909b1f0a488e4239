#include "kernels.h"

#include <cstdint>

#include "functions.h"

namespace popart_cpu {
namespace {

using poplar::Type;

// A loop of a function over blocks of elements of one to three types.
template <typename F, typename A, typename B = void, typename C = void>
void Loop(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  const auto run = [=](const auto*... from) {
    auto* __restrict to = static_cast<decltype(F()(*from...))*>(out);
    for (std::size_t i = 0; i < n; ++i) to[i] = F()(from[i]...);
  };
  if constexpr (std::is_void<B>::value) run(static_cast<const A*>(a));
  else if constexpr (std::is_void<C>::value) run(static_cast<const A*>(a), static_cast<const B*>(b));
  else run(static_cast<const A*>(a), static_cast<const B*>(b), static_cast<const C*>(c));
}

// Return an operator with a function of one operand, or of two.
template <typename F, typename... Operands>
constexpr Operator Row(const char* name, Kernel (*find)(Type)) {
  constexpr bool takes_truths = !F::kFloats && !F::kIntegers;
  return {name, find, takes_truths, std::is_same<decltype(F()(Operands()...)), Truth>::value, false};
}
template <typename F>
constexpr Operator Unary(const char* name) {
  return Row<F, Example<F>>(name, [](Type type) {
    return ForType<F>(type, [](auto t) -> Kernel { return &Loop<F, decltype(t)>; });
  });
}
template <typename F>
constexpr Operator Binary(const char* name) {
  return Row<F, Example<F>, Example<F>>(name, [](Type type) {
    return ForType<F>(type, [](auto t) -> Kernel { return &Loop<F, decltype(t), decltype(t)>; });
  });
}

#define POPART_CPU_UNARY(OP, Class, function) Unary<functions::Class>(#OP),
#define POPART_CPU_BINARY(OP, Class, function) Binary<functions::Class>(#OP),
constexpr Operator kUnary[] = {POPART_CPU_UNARY_OPERATORS(POPART_CPU_UNARY)};
constexpr Operator kBinary[] = {POPART_CPU_BINARY_OPERATORS(POPART_CPU_BINARY)};

}  // namespace

const Operator& OperatorOf(popops::expr::UnaryOpType type) { return kUnary[static_cast<int>(type)]; }

const Operator& OperatorOf(popops::expr::BinaryOpType type) { return kBinary[static_cast<int>(type)]; }

const Operator& OperatorOf(popops::expr::TernaryOpType type) {
  using functions::Clamp;
  using functions::Select;
  static constexpr auto kFindClamp = [](Type type) {
    return ForType<Clamp>(type, [](auto t) -> Kernel { return &Loop<Clamp, decltype(t), decltype(t), decltype(t)>; });
  };
  static constexpr auto kFindSelect = [](Type type) {
    return ForType<Select>(type, [](auto t) -> Kernel { return &Loop<Select, decltype(t), decltype(t), Truth>; });
  };
  static constexpr Operator kClamp{"CLAMP", kFindClamp, false, false, false};
  static constexpr Operator kSelect{"SELECT", kFindSelect, false, false, true};
  return type == popops::expr::TernaryOpType::CLAMP ? kClamp : kSelect;
}

Kernel FindCast(Type from, Type to) {
  using functions::Cast;
  using functions::RoundToHalf;
  if (to == poplar::HALF && (from == poplar::FLOAT || from == poplar::HALF)) return &Loop<RoundToHalf, float>;
  return ForType<TakesAll>(from, [to](auto f) {
    return ForType<TakesAll>(to, [](auto t) -> Kernel { return &Loop<Cast<decltype(t)>, decltype(f)>; });
  });
}

std::size_t SizeInBlock(Type type) { return type == poplar::HALF ? sizeof(float) : type.size(); }

}  // namespace popart_cpu
