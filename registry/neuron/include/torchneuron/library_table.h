// The contents of a library besides the user's functions; library.cpp defines them without PyTorch's headers.
#pragma once

namespace torchneuron {

class Call;

// A kernel function of the library. `parameters` are its types as in `Parameter::name`; `result` is null unless it
// returns something other than a tensor.
struct KernelFunction {
  const char* name;
  const char* parameters;
  const char* result;
  void (*address)();
};

extern "C" {

// Returns all functions that the kernel files define; one without a name ends the list.
const KernelFunction* torchneuron_kernel_functions();

// Returns how many cores run a kernel function, one after the other.
unsigned torchneuron_cores();

// Counts another operator of the library and returns their number.
int torchneuron_count_operator();

// Records an error in the library, to report to its loader.
void torchneuron_refuse(const char* error);

Call** torchneuron_call();
}

}  // namespace torchneuron
