// Identifies the build of a loaded library.
#ifndef PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_
#define PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_

#include <string>

namespace pykernels::mxnet {

// Returns the GNU build id of the library that contains `address`, in hexadecimal; empty if it has none.
std::string FindBuildId(const void* address);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_
