#include "expression.h"

#include <popops/Expr.hpp>
#include <poputil/exceptions.hpp>

#include <map>
#include <utility>

#include "../host/error.h"

namespace popart_cpu {
namespace {

using poplar::Type;
using pykernels::Join;

constexpr Type kOpen;  // type of constants alone; they take the type that they are combined with

[[noreturn]] void Fail(const std::string& text) { throw poputil::poplibs_error("popops expression: " + text); }

const char* NameOf(const Term& term) { return term.op ? term.op->name : "a cast"; }

bool GivesTruths(const Term& term) { return term.op && term.op->gives_truths; }

// Returns how many operands have a common type: all but the condition of Select.
std::size_t CountAlike(const Term& term) { return term.operands.size() - (term.op && term.op->is_select ? 1 : 0); }

class Compiler {
 public:
  explicit Compiler(const std::vector<Type>& operands) : operands_(operands) {
    formula_.n_operands = static_cast<int>(operands.size());
  }

  Formula Compile(const Term& term) {
    formula_.type = Resolve(term);
    formula_.result = Generate(term, formula_.type);
    return std::move(formula_);
  }

 private:
  // Returns the type of a term by itself; kOpen if it depends on what the term is combined with.
  Type Infer(const Term& term) {
    const auto found = inferred_.find(&term);
    if (found != inferred_.end()) return found->second;
    return inferred_[&term] = InferAnew(term);
  }

  Type InferAnew(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kPlaceHolder:
        if (term.index == 0 || term.index > operands_.size()) {
          Fail(Join("it uses _", term.index, ", but the number of tensors is ", operands_.size()));
        }
        return operands_[term.index - 1];
      case Term::Kind::kConstant: return kOpen;
      case Term::Kind::kCast: return term.type;
      case Term::Kind::kOperator: break;
    }
    const Type type = OperandType(term);
    return GivesTruths(term) ? poplar::BOOL : type;
  }

  // Returns the common type of an operator's operands.
  Type OperandType(const Term& term) {
    if (term.op->takes_truths) return poplar::BOOL;
    Type type = kOpen;
    for (std::size_t i = 0; i < CountAlike(term); ++i) {
      const Type other = Infer(*term.operands[i]);
      if (type == kOpen) type = other;
      if (other != kOpen && other != type) {
        Fail(Join(NameOf(term), " combines ", type, " and ", other, ": convert one with Cast"));
      }
    }
    return type;
  }

  // Returns the type of a term; for constants alone, float if one of them is float.
  Type Resolve(const Term& term) {
    if (term.kind == Term::Kind::kConstant) return term.type;
    const Type type = Infer(term);
    return type != kOpen ? type : ResolveOperands(term);
  }

  Type ResolveOperands(const Term& term) {
    Type found = kOpen;
    for (std::size_t i = 0; i < CountAlike(term); ++i) {
      const Type other = Resolve(*term.operands[i]);
      if (found == kOpen || other == poplar::FLOAT) found = other;
    }
    return found;
  }

  // Generates code for a term of this type and returns the register of its result.
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
      Fail(Join(NameOf(term), " gives ", natural, " where ", type, " is needed"));
    }
    Formula::Instruction instruction{nullptr, -1, {-1, -1, -1}};
    Type operand;
    if (term.kind == Term::Kind::kCast) {
      operand = Resolve(*term.operands[0]);
      if (operand == type) return Generate(*term.operands[0], type);
      instruction.kernel = FindCast(operand, type);
      if (!instruction.kernel) Fail(Join("a cast from ", operand, " to ", type, " is not supported"));
    } else {
      operand = OperandType(term);
      if (operand == kOpen) operand = GivesTruths(term) ? ResolveOperands(term) : type;
      instruction.kernel = term.op->find(operand);
      if (!instruction.kernel) Fail(Join(NameOf(term), " does not support ", operand));
    }
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      instruction.in[i] = Generate(*term.operands[i], i < CountAlike(term) ? operand : poplar::BOOL);
    }
    instruction.out = NewRegister(type);
    formula_.code.push_back(instruction);
    return instruction.out;
  }

  int NewRegister(Type type) {
    formula_.sizes.push_back(SizeInBlock(type));
    return formula_.n_operands + static_cast<int>(formula_.sizes.size()) - 1;
  }

  const std::vector<Type>& operands_;
  Formula formula_;
  std::map<const Term*, Type> inferred_;
  std::map<std::pair<const Term*, Type>, int> registers_;
};

std::shared_ptr<const Term> Operation(const Operator& op, std::vector<std::shared_ptr<const Term>> operands) {
  Term term{Term::Kind::kOperator};
  term.op = &op;
  term.operands = std::move(operands);
  return std::make_shared<Term>(std::move(term));
}

}  // namespace

Formula Compile(const Term& term, const std::vector<Type>& operands) { return Compiler(operands).Compile(term); }

}  // namespace popart_cpu

namespace popops {
namespace expr {

using popart_cpu::Operation;
using popart_cpu::OperatorOf;
using popart_cpu::Term;

PlaceHolder::PlaceHolder(unsigned index) : Expr(std::make_shared<Term>(Term{Term::Kind::kPlaceHolder, index})) {}

Const::Const(poplar::Type type, long double value)
    : Expr(std::make_shared<Term>(Term{Term::Kind::kConstant, 0, value, type})) {}

Cast::Cast(const Expr& a, poplar::Type type)
    : Expr(std::make_shared<Term>(Term{Term::Kind::kCast, 0, 0, type, nullptr, {a.term()}})) {}

UnaryOp::UnaryOp(UnaryOpType type, const Expr& a) : Expr(Operation(OperatorOf(type), {a.term()})) {}

BinaryOp::BinaryOp(BinaryOpType type, const Expr& a, const Expr& b)
    : Expr(Operation(OperatorOf(type), {a.term(), b.term()})) {}

TernaryOp::TernaryOp(TernaryOpType type, const Expr& a, const Expr& b, const Expr& c)
    : Expr(Operation(OperatorOf(type), {a.term(), b.term(), c.term()})) {}

}  // namespace expr
}  // namespace popops
