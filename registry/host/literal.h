// Values out of the strings that frameworks hand attributes over in: what Python's str() makes of them.
#ifndef PYKERNELS_REGISTRY_HOST_LITERAL_H_
#define PYKERNELS_REGISTRY_HOST_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pykernels {

// Each takes the whole text, with blanks around it, and gives nothing if that is not such a value.

std::optional<int64_t> ParseInteger(const std::string& text);

// In any locale; "inf" and "nan" as well. Nothing if it overflows.
std::optional<double> ParseReal(const std::string& text);

// A number that is held as a 32-bit float elsewhere: the double with the same shortest decimal, so that 0.1 stays 0.1
// on every way that an attribute takes.
std::optional<double> ParseFloat(const std::string& text);

// "True" or "1", "False" or "0", in upper or lower case.
std::optional<bool> ParseBool(const std::string& text);

// "float32", "'float32'", "<class 'numpy.float32'>", "dtype('float32')" or its number to a pk_dtype.
std::optional<int32_t> ParseDtype(const std::string& text);

// The items of "(1, 2)", "[1, 2]", "(1,)", "1, 2" or "1"; those of nested lists are left as they are.
std::optional<std::vector<std::string>> ParseItems(const std::string& text);

// "'a b'" or "\"a b\"" without its quotes and escapes; text without quotes as it is.
std::optional<std::string> ParseQuoted(const std::string& text);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_LITERAL_H_
