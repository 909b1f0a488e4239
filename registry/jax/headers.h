// The header of XLA's typed foreign function interface, which comes with jaxlib.
#pragma once

#include <xla/ffi/api/ffi.h>

namespace pykernels::jax {

namespace ffi = xla::ffi;

}  // namespace pykernels::jax
