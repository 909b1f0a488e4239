// The cores that a kernel runs on: all of them run it where a library has been built with multicore=True.
#pragma once

#include <cstdint>

#include "torchneuron/context.h"

// The number of the core that runs the kernel, from 0.
inline uint32_t get_cpu_id(torchneuron::Place place = torchneuron::Place::here()) {
  return torchneuron::current_call("get_cpu_id()", place).cpu_id;
}

// How many cores run it.
inline uint32_t get_cpu_count(torchneuron::Place place = torchneuron::Place::here()) {
  return torchneuron::current_call("get_cpu_count()", place).cpu_count;
}
