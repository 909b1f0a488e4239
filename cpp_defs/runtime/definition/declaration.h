/* The declaration of an op: its arguments and attributes. */
#pragma once

#include <algorithm>
#include <list>

#include "attr_value.h"

// std::list throughout, instead of vectors and maps: the lists are short, and at -O0 they compile fastest.

namespace pykernels {

struct ArgumentDecl {
  std::string name;
  int32_t count;  // the minimum if variadic
  bool variadic;
  bool optional;
  bool is_mutable = false;
  std::string type = "";  // a tensor type, such as "floating[...]"; "" if functions infer its shape and dtype
  Where at = {"", 0};
  std::string like = "";  // for a gradient: the forward input whose shape it has

  /* Whether it has the same number of tensors in every use of the op. */
  bool IsFixed() const { return !variadic && !optional; }
  bool IsSingle() const { return IsFixed() && count == 1; }
  bool Takes(int32_t n) const { return n == count || (variadic && n > count) || (optional && n == 0); }
  /* The number of tensors, for messages. */
  std::string Wanted() const { return Joined({std::to_string(count), variadic ? " or more" : ""}); }
};

struct AttributeDecl {
  std::string name;
  ::oneflow::user_op::AttrVal initial;
  bool has_default;
};

template<typename T, typename Value>
bool Contains(const T& items, const Value& value) {
  for (const auto& item : items) {
    if (item == value) { return true; }
  }
  return false;
}

template<typename T>
const T* FindNamed(const std::list<T>& items, const std::string& name) {
  for (const T& item : items) {
    if (item.name == name) { return &item; }
  }
  return nullptr;
}

/* The names of `items`, for use in messages. */
template<typename T>
std::string Names(const std::list<T>& items) {
  std::string names;
  for (const T& item : items) { names += Joined({names.empty() ? "" : ", ", item.name}); }
  return names.empty() ? "none" : names;
}

/* Text that a definition gives to a method of an op, and the line where it does. */
struct Line {
  std::string text;
  Where at;
  std::string condition = "";  // the calls that it holds for; "" for all
};

struct Declaration {
  std::string name;
  Where where;
  std::list<ArgumentDecl> inputs;
  std::list<ArgumentDecl> outputs;
  std::list<AttributeDecl> attributes;
};

/* The declaration of an op type of this file; nullptr if another file declares it. */
const Declaration* FindDeclaration(const std::string& op_type);

}  // namespace pykernels
