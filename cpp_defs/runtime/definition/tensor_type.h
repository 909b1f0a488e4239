/* Tensor types, which declare the dtype and the shape of an argument in one string: "floating[rows, columns]". */
#pragma once

#include "formula.h"
#include "oneflow/core/common/data_type.h"

namespace pykernels {

/* A word for several dtypes. Arguments of an op with the same word have the same dtype. */
struct DataTypeClass {
  const char* word;
  bool (*includes)(::oneflow::DataType);
  const char* wanted;
};

inline const DataTypeClass* FindDataTypeClass(const std::string& word) {
  using ::oneflow::DataType, ::oneflow::IsFloatingDataType, ::oneflow::IsIntegralDataType;
  using ::oneflow::IsComplexDataType, ::oneflow::RealDataType;
  static const DataTypeClass kClasses[] = {
      {"floating", [](DataType type) { return IsFloatingDataType(type); }, "floating point"},
      {"complex", [](DataType type) { return IsComplexDataType(type) && RealDataType(type) != 0; }, "complex"},
      {"inexact", [](DataType type) { return RealDataType(type) != 0; }, "floating point or complex"},
      {"integer", [](DataType type) { return IsIntegralDataType(type); }, "of integers"},
      {"number", [](DataType type) { return IsFloatingDataType(type) || IsIntegralDataType(type); },
       "of floating-point or integer numbers"},
      {"any", [](DataType type) { return !IsComplexDataType(type); }, "of any dtype that is not complex"}};
  for (const DataTypeClass& each : kClasses) {
    if (word == each.word) { return &each; }
  }
  return nullptr;
}

/* Whether a word is for floating-point or complex numbers. Those of one op have one precision. */
inline bool HasPrecision(const std::string& word) {
  return word == "floating" || word == "complex" || word == "inexact";
}

/* The data type with a name of NumPy's, such as float32; kInvalidDataType if there is none. */
::oneflow::DataType DataTypeNamed(const std::string& name);

struct TensorType {
  /* An item of `axes` that stands for any number of axes: the same in all arguments, or broadcast together. */
  static constexpr const char* kSame = "...";
  static constexpr const char* kBroadcast = "broadcast";

  std::string dtype;
  /* The text between the brackets, and its items: the length of each axis as a formula, `kSame` or `kBroadcast`. */
  std::string shape;
  std::vector<std::string> axes;
  /* For "... with <axis> = <length>" and "... without <axis>": the attribute, and the formula ("" without). */
  std::string axis;
  std::string length;

  explicit TensorType(const std::string& text) {
    const size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']') {
      throw Failure(Joined({"'", text, "' is not a tensor type, such as floating[rows, columns]"}));
    }
    dtype = Trimmed(text.substr(0, open));
    shape = Trimmed(text.substr(open + 1, text.size() - open - 2));
    if (FindDataTypeClass(dtype) == nullptr && DataTypeNamed(dtype) == ::oneflow::kInvalidDataType) {
      throw Failure(Joined({"'", dtype, "' in '", text,
                            "' is not a dtype: write floating, complex, inexact, integer, number, any, or a name "
                            "such as float32"}));
    }
    if (!shape.empty()) { Split(text); }
  }

  /* The position of the item that stands for any number of axes; the number of items if there is none. */
  size_t Any() const {
    size_t at = 0;
    while (at < axes.size() && axes[at] != kSame && axes[at] != kBroadcast) { ++at; }
    return at;
  }
  bool Has(const std::string& item) const {
    for (const std::string& each : axes) {
      if (each == item) { return true; }
    }
    return false;
  }
  bool HasAny() const { return Any() < axes.size(); }
  /* Whether an axis with this name has the length that the type gives it. */
  bool Names(const std::string& name) const { return Has(name) || length == name; }

  static std::string Trimmed(const std::string& text) {
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
  }

 private:
  void Split(const std::string& text) {
    for (size_t begin = 0; begin <= shape.size();) {
      const size_t end = std::min(shape.find(',', begin), shape.size());
      AddAxis(Trimmed(shape.substr(begin, end - begin)), text);
      begin = end + 1;
    }
  }

  void AddAxis(const std::string& item, const std::string& text) {
    const bool is_same = item.compare(0, 3, kSame) == 0;
    if ((is_same || item == kBroadcast) && HasAny()) {
      throw Failure(Joined({"'", text, "' says twice 'any number of axes'"}));
    }
    if (!is_same) {
      if (item != kBroadcast) { Formula::Names(item); }
      axes.push_back(item);
      return;
    }
    axes.push_back(kSame);
    const std::string rest = Trimmed(item.substr(3));
    if (rest.empty()) { return; }
    const bool keeps = rest.compare(0, 5, "with ") == 0;
    const size_t equals = keeps ? rest.find('=') : rest.size();
    if ((!keeps && rest.compare(0, 8, "without ") != 0) || equals == std::string::npos) {
      throw Failure(Joined({"'", item, "' in '", text,
                            "' is neither '... with axis = length' nor '... without axis'"}));
    }
    const size_t begin = keeps ? 5 : 8;
    axis = Trimmed(rest.substr(begin, equals - begin));
    length = keeps ? Trimmed(rest.substr(equals + 1)) : "";
    if (!Formula::IsName(axis)) {
      throw Failure(Joined({"'", axis, "' in '", text, "' is not the name of an attribute"}));
    }
    if (keeps) { Formula::Names(length); }
  }
};

}  // namespace pykernels
