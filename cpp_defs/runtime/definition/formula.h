/* Formulas over the lengths of axes and attributes, in Python's notation: "(n + 1) // 2", "0 <= p < 1". */
#pragma once

#include <cctype>
#include <cstdlib>

#include "pykernels/definition/message.h"

namespace pykernels {

/* Reads a formula and computes its value on the way. Operators, loosest first: or, and, comparisons (which chain), + -,
 * * // %, unary -. Operands are numbers, names, `name.ndim`, `name[2]` and parentheses. True is 1 and false is 0. */
class Formula {
 public:
  /* The values of the operands that are no numbers. */
  struct Operands {
    virtual double Value(const std::string& name) const = 0;

   protected:
    ~Operands() = default;
  };

  /* Throws a Failure if `text` is not a formula, or what `operands` throw. */
  static double Evaluate(const std::string& text, const Operands& operands) { return Formula(text, &operands).Whole(); }

  /* The operands of `text` that are not numbers. */
  static std::vector<std::string> Names(const std::string& text) {
    Formula formula(text, nullptr);
    formula.Whole();
    return formula.names_;
  }

  static bool IsName(const std::string& text) {
    bool is_name = !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]));
    for (char c : text) { is_name = is_name && InName(c); }
    return is_name;
  }

 private:
  /* Without operands, it only collects their names. */
  Formula(const std::string& text, const Operands* operands) : text_(text), operands_(operands) {}

  static bool InName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  [[noreturn]] void Refuse(const std::string& why) const { throw Failure(Joined({"'", text_, "' ", why})); }

  double Whole() {
    const double value = Or();
    Spaces();
    if (at_ < text_.size()) { Refuse(Joined({"cannot be read from '", text_.substr(at_), "' on"})); }
    return value;
  }

  double Or() {
    double value = And();
    while (Word("or")) {
      const double right = And();
      value = value != 0 || right != 0;
    }
    return value;
  }
  double And() {
    double value = Comparison();
    while (Word("and")) {
      const double right = Comparison();
      value = value != 0 && right != 0;
    }
    return value;
  }

  double Comparison() {
    double left = Sum();
    bool holds = true, compares = false;
    for (;;) {
      const std::string sign = Sign({"<=", ">=", "==", "!=", "<", ">"});
      if (sign.empty()) { return compares ? holds : left; }
      const double right = Sum();
      holds = holds && Compare(sign, left, right);
      compares = true;
      left = right;
    }
  }
  static bool Compare(const std::string& sign, double left, double right) {
    if (sign == "<=") { return left <= right; }
    if (sign == ">=") { return left >= right; }
    if (sign == "==") { return left == right; }
    if (sign == "!=") { return left != right; }
    return sign == "<" ? left < right : left > right;
  }

  double Sum() {
    double value = Product();
    for (;;) {
      const std::string sign = Sign({"+", "-"});
      if (sign.empty()) { return value; }
      value = sign == "+" ? value + Product() : value - Product();
    }
  }
  double Product() {
    double value = Unary();
    for (;;) {
      const std::string sign = Sign({"*", "//", "%"});
      if (sign.empty()) { return value; }
      const double right = Unary();
      value = sign == "*" ? value * right : Divide(sign, value, right);
    }
  }
  double Divide(const std::string& sign, double left, double right) const {
    if (operands_ == nullptr) { return 1; }
    if (right == 0) { Refuse("divides by 0"); }
    const double quotient = __builtin_floor(left / right);  // without <cmath>, which takes long to compile
    return sign == "//" ? quotient : left - quotient * right;
  }
  double Unary() { return Sign({"-"}).empty() ? Operand() : -Unary(); }

  double Operand() {
    if (!Sign({"("}).empty()) {
      const double value = Or();
      if (Sign({")"}).empty()) { Refuse("lacks a ')'"); }
      return value;
    }
    Spaces();
    const char* begin = text_.c_str() + at_;
    if (std::isdigit(static_cast<unsigned char>(*begin)) || *begin == '.') {
      char* end = nullptr;
      const double value = std::strtod(begin, &end);
      if (end == begin) { Refuse(Joined({"lacks a number or a name at '", text_.substr(at_), "'"})); }
      at_ += static_cast<size_t>(end - begin);
      return value;
    }
    const std::string name = Name();
    if (operands_ != nullptr) { return operands_->Value(name); }
    names_.push_back(name);
    return 1;
  }

  /* A name, with `.ndim` or an index in brackets. */
  std::string Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && InName(text_[at_])) { ++at_; }
    if (at_ == begin) {
      Refuse(at_ < text_.size() ? Joined({"lacks a number or a name at '", text_.substr(at_), "'"})
                                : "lacks a number or a name at its end");
    }
    if (text_.compare(at_, 5, ".ndim") == 0) {
      at_ += 5;
    } else if (at_ < text_.size() && text_[at_] == '[') {
      const size_t end = text_.find(']', at_);
      if (end == std::string::npos) { Refuse("lacks a ']'"); }
      at_ = end + 1;
    }
    return text_.substr(begin, at_ - begin);
  }

  void Spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') { ++at_; }
  }
  /* Reads one of `signs`; returns "" if none is next. */
  std::string Sign(std::initializer_list<const char*> signs) {
    Spaces();
    for (const std::string sign : signs) {
      if (text_.compare(at_, sign.size(), sign) == 0) {
        at_ += sign.size();
        return sign;
      }
    }
    return "";
  }
  bool Word(const std::string& word) {
    Spaces();
    const size_t end = at_ + word.size();
    if (text_.compare(at_, word.size(), word) != 0 || (end < text_.size() && InName(text_[end]))) { return false; }
    at_ = end;
    return true;
  }

  const std::string& text_;
  const Operands* const operands_;
  size_t at_ = 0;
  std::vector<std::string> names_;
};

}  // namespace pykernels
