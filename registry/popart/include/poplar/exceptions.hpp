// The exceptions that Poplar throws.
#pragma once

#include <stdexcept>

namespace poplar {

struct poplar_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct graph_program_error : poplar_error {
  using poplar_error::poplar_error;
};

}  // namespace poplar
