#include "expression.h"

#include <popops/Expr.hpp>
#include <poputil/exceptions.hpp>

#include <map>
#include <utility>

#include "../host/error.h"

namespace popart_cpu {
namespace {

using poplar::Type;
using popops::expr::BinaryOpType;
using popops::expr::TernaryOpType;
using popops::expr::UnaryOpType;
using pykernels::Join;

constexpr Type kOpen;  // of what consists of constants alone: it takes the type of what it is combined with

[[noreturn]] void Fail(const std::string& text) { throw poputil::poplibs_error("popops expression: " + text); }

std::string NameOfTerm(const Term& term) {
  switch (term.kind) {
    case Term::Kind::kUnary: return NameOf(static_cast<UnaryOpType>(term.op));
    case Term::Kind::kBinary: return NameOf(static_cast<BinaryOpType>(term.op));
    case Term::Kind::kTernary: return NameOf(static_cast<TernaryOpType>(term.op));
    default: return "a cast";
  }
}

bool IsSelect(const Term& term) {
  return term.kind == Term::Kind::kTernary && static_cast<TernaryOpType>(term.op) == TernaryOpType::SELECT;
}

// Whether the operands are truths, and whether the result is one whatever they are.
bool TakesTruths(const Term& term) {
  if (term.kind == Term::Kind::kUnary) return static_cast<UnaryOpType>(term.op) == UnaryOpType::LOGICAL_NOT;
  const auto op = static_cast<BinaryOpType>(term.op);
  return term.kind == Term::Kind::kBinary && (op == BinaryOpType::LOGICAL_AND || op == BinaryOpType::LOGICAL_OR);
}

bool GivesTruths(const Term& term) {
  if (TakesTruths(term)) return true;
  if (term.kind == Term::Kind::kUnary) {
    const auto op = static_cast<UnaryOpType>(term.op);
    return op == UnaryOpType::IS_FINITE || op == UnaryOpType::IS_INF || op == UnaryOpType::IS_NAN;
  }
  if (term.kind != Term::Kind::kBinary) return false;
  switch (static_cast<BinaryOpType>(term.op)) {
    case BinaryOpType::EQUAL:
    case BinaryOpType::NOT_EQUAL:
    case BinaryOpType::GREATER_THAN:
    case BinaryOpType::GREATER_THAN_EQUAL:
    case BinaryOpType::LESS_THAN:
    case BinaryOpType::LESS_THAN_EQUAL: return true;
    default: return false;
  }
}

class Compiler {
 public:
  explicit Compiler(const std::vector<Type>& operands) : operands_(operands) {
    formula_.n_operands = static_cast<int>(operands.size());
  }

  Formula Compile(const Term& term) {
    formula_.type = Resolve(term);
    formula_.result = Generate(term, formula_.type);
    return ShareRegisters();
  }

 private:
  // The type of a term by itself, kOpen if that depends on what it is combined with.
  Type Infer(const Term& term) {
    const auto found = inferred_.find(&term);
    if (found != inferred_.end()) return found->second;
    return inferred_[&term] = InferAnew(term);
  }

  Type InferAnew(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kPlaceHolder:
        if (term.index == 0 || term.index > operands_.size()) {
          Fail(Join("there is _", term.index, " in it, but ", operands_.size(), " tensors are given"));
        }
        return operands_[term.index - 1];
      case Term::Kind::kConstant: return kOpen;
      case Term::Kind::kCast: return term.type;
      default: break;
    }
    const Type type = OperandType(term);
    return GivesTruths(term) ? poplar::BOOL : type;
  }

  // What all operands of an operator have to be, but for the condition of a choice.
  Type OperandType(const Term& term) {
    if (TakesTruths(term)) return poplar::BOOL;
    Type type = kOpen;
    const std::size_t n = IsSelect(term) ? 2 : term.operands.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Type other = Infer(*term.operands[i]);
      if (type == kOpen) type = other;
      if (other != kOpen && other != type) {
        Fail(Join(NameOfTerm(term), " combines ", type, " and ", other, ", which have to be the same (use Cast)"));
      }
    }
    return type;
  }

  // Of constants alone: float if there is one among them.
  Type Resolve(const Term& term) {
    if (term.kind == Term::Kind::kConstant) return term.type;
    const Type type = Infer(term);
    if (type != kOpen) return type;
    Type found = kOpen;
    const std::size_t n = IsSelect(term) ? 2 : term.operands.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Type other = Resolve(*term.operands[i]);
      if (found == kOpen || other == poplar::FLOAT) found = other;
    }
    return found;
  }

  // The register that holds a term, which has this type.
  int Generate(const Term& term, Type type) {
    if (term.kind == Term::Kind::kPlaceHolder) {
      if (type != operands_[term.index - 1]) {
        Fail(Join("_", term.index, " is ", operands_[term.index - 1], " where ", type, " is needed"));
      }
      return static_cast<int>(term.index) - 1;
    }
    const auto key = std::make_pair(&term, type);
    const auto found = registers_.find(key);
    return found != registers_.end() ? found->second : registers_[key] = GenerateAnew(term, type);
  }

  int GenerateAnew(const Term& term, Type type) {
    if (term.kind == Term::Kind::kConstant) {
      formula_.constants.push_back({NewRegister(type), type, term.value});
      return formula_.constants.back().out;
    }
    const Type natural = Infer(term);
    if (natural != kOpen && natural != type) {
      Fail(Join(NameOfTerm(term), " gives ", natural, " where ", type, " is needed"));
    }
    Formula::Instruction instruction{nullptr, -1, {-1, -1, -1}};
    Type operand;
    if (term.kind == Term::Kind::kCast) {
      operand = Resolve(*term.operands[0]);
      if (operand == type) return Generate(*term.operands[0], type);
      instruction.kernel = FindCast(operand, type);
      if (!instruction.kernel) Fail(Join("there is no cast from ", operand, " to ", type));
    } else {
      operand = OperandType(term);
      if (operand == kOpen) operand = GivesTruths(term) ? ResolveOperands(term) : type;
      switch (term.kind) {
        case Term::Kind::kUnary: instruction.kernel = FindKernel(static_cast<UnaryOpType>(term.op), operand); break;
        case Term::Kind::kBinary: instruction.kernel = FindKernel(static_cast<BinaryOpType>(term.op), operand); break;
        default: instruction.kernel = FindKernel(static_cast<TernaryOpType>(term.op), operand); break;
      }
      if (!instruction.kernel) Fail(Join(NameOfTerm(term), " is not for ", operand));
    }
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      instruction.in[i] = Generate(*term.operands[i], IsSelect(term) && i == 2 ? poplar::BOOL : operand);
    }
    instruction.out = NewRegister(type);
    formula_.code.push_back(instruction);
    return instruction.out;
  }

  Type ResolveOperands(const Term& term) {
    Type found = kOpen;
    for (const auto& each : term.operands) {
      const Type other = Resolve(*each);
      if (found == kOpen || other == poplar::FLOAT) found = other;
    }
    return found;
  }

  int NewRegister(Type type) {
    formula_.sizes.push_back(SizeInBlock(type));
    return formula_.n_operands + static_cast<int>(formula_.sizes.size()) - 1;
  }

  // The formula with fewer registers: those whose content is not needed any more are taken again.
  Formula ShareRegisters() {
    Formula shared = formula_;
    shared.sizes.clear();
    std::map<int, int> places;
    for (int i = 0; i < formula_.n_operands; ++i) places[i] = i;
    const auto size_of = [&](int number) { return formula_.sizes[number - formula_.n_operands]; };
    const auto add = [&](int number) {
      shared.sizes.push_back(size_of(number));
      return places[number] = formula_.n_operands + static_cast<int>(shared.sizes.size()) - 1;
    };
    for (auto& each : shared.constants) each.out = add(each.out);
    std::map<int, std::size_t> last;
    for (std::size_t i = 0; i < formula_.code.size(); ++i) {
      for (int in : formula_.code[i].in) last[in] = i;
    }
    for (const auto& each : formula_.constants) last.erase(each.out);
    std::vector<int> unused;  // registers of `shared`
    for (std::size_t i = 0; i < formula_.code.size(); ++i) {
      const Formula::Instruction& from = formula_.code[i];
      Formula::Instruction& to = shared.code[i];
      for (int k = 0; k < 3; ++k) to.in[k] = from.in[k] < 0 ? -1 : places[from.in[k]];
      std::size_t best = unused.size();
      for (std::size_t k = 0; k < unused.size(); ++k) {
        if (shared.sizes[unused[k] - formula_.n_operands] == size_of(from.out)) best = k;
      }
      if (best < unused.size()) {
        to.out = places[from.out] = unused[best];
        unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(best));
      } else {
        to.out = add(from.out);
      }
      for (int in : from.in) {
        const auto found = last.find(in);
        if (in >= formula_.n_operands && found != last.end() && found->second == i) {
          unused.push_back(places[in]);
          last.erase(found);  // it may be there twice
        }
      }
    }
    shared.result = places[formula_.result];
    return shared;
  }

  const std::vector<Type>& operands_;
  Formula formula_;
  std::map<const Term*, Type> inferred_;
  std::map<std::pair<const Term*, Type>, int> registers_;
};

std::shared_ptr<const Term> Operation(Term::Kind kind, int op, std::vector<std::shared_ptr<const Term>> operands) {
  auto term = std::make_shared<Term>();
  term->kind = kind;
  term->op = op;
  term->operands = std::move(operands);
  return term;
}

std::shared_ptr<const Term> Leaf(Term::Kind kind, unsigned index, Type type, long double value) {
  auto term = std::make_shared<Term>();
  term->kind = kind;
  term->index = index;
  term->type = type;
  term->value = value;
  return term;
}

std::shared_ptr<const Term> CastOf(const popops::expr::Expr& a, Type type) {
  auto term = std::make_shared<Term>(*Operation(Term::Kind::kCast, 0, {a.term()}));
  term->type = type;
  return term;
}

}  // namespace

Formula Compile(const Term& term, const std::vector<Type>& operands) { return Compiler(operands).Compile(term); }

}  // namespace popart_cpu

namespace popops {
namespace expr {

using popart_cpu::Leaf;
using popart_cpu::Operation;
using popart_cpu::Term;

PlaceHolder::PlaceHolder(unsigned index) : Expr(Leaf(Term::Kind::kPlaceHolder, index, poplar::Type(), 0)) {}

Const::Const(poplar::Type type, long double value) : Expr(Leaf(Term::Kind::kConstant, 0, type, value)) {}

Cast::Cast(const Expr& a, poplar::Type type) : Expr(popart_cpu::CastOf(a, type)) {}

UnaryOp::UnaryOp(UnaryOpType type, const Expr& a)
    : Expr(Operation(Term::Kind::kUnary, static_cast<int>(type), {a.term()})) {}

BinaryOp::BinaryOp(BinaryOpType type, const Expr& a, const Expr& b)
    : Expr(Operation(Term::Kind::kBinary, static_cast<int>(type), {a.term(), b.term()})) {}

TernaryOp::TernaryOp(TernaryOpType type, const Expr& a, const Expr& b, const Expr& c)
    : Expr(Operation(Term::Kind::kTernary, static_cast<int>(type), {a.term(), b.term(), c.term()})) {}

}  // namespace expr
}  // namespace popops
