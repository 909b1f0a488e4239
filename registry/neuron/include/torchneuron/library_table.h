// What a library holds beside the user's functions; library.cpp defines it, without PyTorch's headers.
#pragma once

namespace torchneuron {

class Call;

// A kernel function of the library. `parameters` are its types as `Parameter::name` has them; `result` is null unless
// it returns something else than a tensor.
struct KernelFunction {
  const char* name;
  const char* parameters;
  const char* result;
  void (*address)();
};

extern "C" {

// All functions that the kernel files define, up to one without a name.
const KernelFunction* torchneuron_kernel_functions();

// How many cores run a kernel function, one after the other.
unsigned torchneuron_cores();

// Counts an operator of the library and gives their number.
int torchneuron_count_operator();

// Keeps what is wrong with the library, for who loads it.
void torchneuron_refuse(const char* error);

Call** torchneuron_call();
}

}  // namespace torchneuron
