// The one exception that the parts of a registrar throw.
#ifndef PYKERNELS_REGISTRY_HOST_ERROR_H_
#define PYKERNELS_REGISTRY_HOST_ERROR_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace pykernels {

// A registrar turns it into its framework's own exception. The text says what is wrong and where.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Room for an error text that comes over one of the C ABIs.
constexpr size_t kErrorSize = 8192;

template <typename... Parts>
std::string Join(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <typename... Parts>
[[noreturn]] void Fail(const Parts&... parts) {
  throw Error(Join(parts...));
}

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_ERROR_H_
