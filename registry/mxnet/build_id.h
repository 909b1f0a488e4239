// Identifies the build of a loaded library.
#pragma once

#include <string>

namespace pykernels::mxnet {

// Returns the GNU build id of the library that contains `address`, in hexadecimal; empty if it has none.
std::string FindBuildId(const void* address);

}  // namespace pykernels::mxnet
