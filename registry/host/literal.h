// Parses attribute values from the strings that frameworks pass, as Python's str() writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pykernels {

// Each function parses the whole text, ignores blanks around it, and returns nullopt if it is not such a value.

std::optional<int64_t> ParseInteger(const std::string& text);

// Parses a number in any locale, including "inf" and "nan". Returns nullopt on overflow.
std::optional<double> ParseReal(const std::string& text);

// Parses a number that is a 32-bit float elsewhere and returns the double with the same shortest decimal, so that 0.1
// stays 0.1 on every path an attribute takes.
std::optional<double> ParseFloat(const std::string& text);

// Parses "True" or "1", "False" or "0", in upper or lower case.
std::optional<bool> ParseBool(const std::string& text);

// Parses "float32", "'float32'", "<class 'numpy.float32'>", "dtype('float32')" or a number as a pk_dtype.
std::optional<int32_t> ParseDtype(const std::string& text);

// Returns the items of "(1, 2)", "[1, 2]", "(1,)", "1, 2" or "1". Nested lists stay as they are.
std::optional<std::vector<std::string>> ParseItems(const std::string& text);

// Removes the quotes and escapes of "'a b'" or "\"a b\""; returns text without quotes unchanged.
std::optional<std::string> ParseQuoted(const std::string& text);

}  // namespace pykernels
