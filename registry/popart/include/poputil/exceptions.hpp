// The exceptions that the libraries' functions throw.
#pragma once

#include <poplar/exceptions.hpp>

namespace poputil {

struct poplibs_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace poputil
