// Which build of a library is loaded.
#ifndef PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_
#define PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_

#include <string>

namespace pykernels::mxnet {

// The GNU build id of the library that `address` lies in, in hexadecimal; empty if it has none.
std::string FindBuildId(const void* address);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_BUILD_ID_H_
