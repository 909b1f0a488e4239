// The cores that a kernel runs on: all of them if the library was built with multicore=True.
#pragma once

#include <cstdint>

#include "torchneuron/context.h"

// Returns the number of the core that runs the kernel, from 0.
inline uint32_t get_cpu_id(torchneuron::Place place = torchneuron::Place::here()) {
  return torchneuron::current_call("get_cpu_id()", place).cpu_id;
}

// Returns how many cores run the kernel.
inline uint32_t get_cpu_count(torchneuron::Place place = torchneuron::Place::here()) {
  return torchneuron::current_call("get_cpu_count()", place).cpu_count;
}
