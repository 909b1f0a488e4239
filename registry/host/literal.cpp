#include "literal.h"

#include <locale.h>
#include <pykernels/definition.h>

#include <cerrno>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "dtype.h"

namespace pykernels {
namespace {

constexpr const char* kBlank = " \t\r\n";

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Makes parsing on this thread independent of the program's locale.
class PlainLocale {
 public:
  PlainLocale() {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    before_ = uselocale(plain);
  }
  ~PlainLocale() { uselocale(before_); }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t before_;
};

bool IsQuote(char c) { return c == '\'' || c == '"'; }

// Removes `prefix` and `suffix` from `text` if it has both.
bool Strip(const std::string& prefix, const std::string& suffix, std::string* text) {
  if (text->size() < prefix.size() + suffix.size()) return false;
  if (text->compare(0, prefix.size(), prefix) != 0) return false;
  if (text->compare(text->size() - suffix.size(), suffix.size(), suffix) != 0) return false;
  *text = text->substr(prefix.size(), text->size() - prefix.size() - suffix.size());
  return true;
}

// Returns the position of the quote that closes the string opened at `begin`, or npos.
size_t FindClosingQuote(const std::string& text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[begin]) {
      return i;
    }
  }
  return std::string::npos;
}

// Splits at commas outside brackets and quotes; returns false if brackets or quotes do not match.
bool SplitAtCommas(const std::string& text, std::vector<std::string>* items) {
  std::string open;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsQuote(c)) {
      i = FindClosingQuote(text, i);
      if (i == std::string::npos) return false;
    } else if (c == '(' || c == '[') {
      open.push_back(c);
    } else if (c == ')' || c == ']') {
      if (open.empty() || open.back() != (c == ')' ? '(' : '[')) return false;
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      items->push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  items->push_back(Trim(text.substr(begin)));
  return open.empty();
}

// Returns whether the first bracket of `text` closes at its last character, as in "(1, 2)" but not in "(1), (2)".
bool IsEnclosed(const std::string& text) {
  if (text.size() < 2 || (text.front() != '(' && text.front() != '[')) return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsQuote(c)) {
      i = FindClosingQuote(text, i);
      if (i == std::string::npos) return false;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == ']') && --depth == 0) {
      return i + 1 == text.size() && (c == ')') == (text.front() == '(');
    }
  }
  return false;
}

std::optional<char> Unescape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\':
    case '\'':
    case '"': return c;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> ParseInteger(const std::string& given) {
  const std::string text = Trim(given);
  const size_t digits = text.find_first_of("+-") == 0 ? 1 : 0;
  if (digits == text.size()) return std::nullopt;
  if (text.find_first_not_of("0123456789", digits) != std::string::npos) return std::nullopt;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), nullptr, 10);
  if (errno == ERANGE) return std::nullopt;
  return value;
}

std::optional<double> ParseReal(const std::string& given) {
  const PlainLocale plain;
  const std::string text = Trim(given);
  // strtod also accepts hexadecimal numbers and "nan(...)".
  if (text.empty() || text.find_first_of("xX(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  if (errno == ERANGE && std::isinf(value)) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(const std::string& text) {
  const std::optional<double> exact = ParseReal(text);
  if (!exact || !std::isfinite(*exact)) return exact;
  const PlainLocale plain;
  const float single = static_cast<float>(*exact);
  if (std::isinf(single)) return std::nullopt;
  for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; ++digits) {
    char decimal[32];
    std::snprintf(decimal, sizeof decimal, "%.*g", digits, single);
    const double shortest = std::strtod(decimal, nullptr);
    if (static_cast<float>(shortest) == single) return shortest;
  }
  return single;
}

std::optional<bool> ParseBool(const std::string& given) {
  std::string text = Trim(given);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

std::optional<int32_t> ParseDtype(const std::string& given) {
  std::string text = Trim(given);
  if (!Strip("<class 'numpy.", "'>", &text)) {
    Strip("dtype(", ")", &text);
    const std::optional<std::string> name = ParseQuoted(text);
    if (!name) return std::nullopt;
    text = *name;
  }
  const std::optional<int64_t> number = ParseInteger(text);
  const int32_t dtype = number ? DtypeFromNumber(*number) : DtypeFromName(text);
  if (dtype == PK_INVALID_DTYPE) return std::nullopt;
  return dtype;
}

std::optional<std::vector<std::string>> ParseItems(const std::string& given) {
  std::string text = Trim(given);
  if (text.empty()) return std::nullopt;
  if (IsEnclosed(text)) text = Trim(text.substr(1, text.size() - 2));
  std::vector<std::string> items;
  if (text.empty()) return items;
  if (!SplitAtCommas(text, &items)) return std::nullopt;
  // Python writes a tuple of one item as "(1,)".
  if (items.back().empty()) items.pop_back();
  for (const std::string& item : items) {
    if (item.empty()) return std::nullopt;
  }
  return items;
}

std::optional<std::string> ParseQuoted(const std::string& given) {
  const std::string text = Trim(given);
  if (text.empty() || !IsQuote(text.front())) return text;
  if (FindClosingQuote(text, 0) != text.size() - 1) return std::nullopt;
  std::string plain;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    std::optional<char> c = text[i];
    if (*c == '\\') c = Unescape(text[++i]);
    if (!c) return std::nullopt;
    plain.push_back(*c);
  }
  return plain;
}

}  // namespace pykernels
