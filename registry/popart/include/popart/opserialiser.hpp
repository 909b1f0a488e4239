// Writes the attributes of ops.
#pragma once

#include <sstream>
#include <type_traits>

#include <popart/names.hpp>

namespace popart {

class OpSerialiserBase {
 public:
  virtual ~OpSerialiserBase() {}

  template <typename T>
  typename std::enable_if<std::is_arithmetic<T>::value>::type appendAttribute(const std::string& key, T value) {
    if (std::is_same<T, bool>::value) return Append(key, value ? "true" : "false");
    Append(key, Number(value));
  }
  void appendAttribute(const std::string& key, const std::string& value) { AppendText(key, value); }
  void appendAttribute(const std::string& key, const char* value) { AppendText(key, value); }
  template <typename T>
  typename std::enable_if<std::is_arithmetic<T>::value>::type appendAttribute(const std::string& key,
                                                                              const std::vector<T>& values) {
    std::string text;
    for (const T& each : values) text += (text.empty() ? "" : ", ") + Number(each);
    Append(key, "[" + text + "]");
  }
  // Appends any other value that can be printed.
  template <typename T>
  typename std::enable_if<!std::is_arithmetic<T>::value>::type appendAttribute(const std::string& key, const T& value) {
    std::ostringstream text;
    text << value;
    AppendText(key, text.str());
  }

 private:
  template <typename T>
  static std::string Number(T value) {
    if (value != value) return "NaN";
    if (value - value != 0) return value > 0 ? "Infinity" : "-Infinity";
    std::ostringstream text;
    text.precision(std::is_same<T, float>::value ? 9 : 17);
    text << +value;
    return text.str();
  }

  // Append a JSON value, or a text.
  virtual void Append(const std::string& key, const std::string& value) = 0;
  virtual void AppendText(const std::string& key, const std::string& text) = 0;
};

}  // namespace popart
