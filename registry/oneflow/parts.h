// Functions of this registrar that have files of their own.
#pragma once

#include <cstdint>
#include <string>

namespace pykernels::oneflow {

// Makes kernels that can be split run on OneFlow's own threads.
void UseThreads();

// Records an error of a kernel, for the next wait for OneFlow. `output` is the kernel's first output, which identifies
// the call if the text does not.
void AddFailure(const std::string& text, const void* output);

// Returns and clears the errors since the last call; empty if there are none. Needs the GIL.
std::string TakeFailures();

// Makes OneFlow record each run of a graph before it starts, for graphs that end before it has done so. Each version
// has its own implementation, like the next function.
void NoteRunsEarly();

// Called on one of OneFlow's threads with the name given for a tensor in a graph, such as a gradient that a job has
// requested, and with the object from which OneFlow's Python module reads its numbers; the object is valid until the
// call returns.
using ReportTensor = void (*)(const char* watcher, int64_t blob);

// Returns the watcher to which OneFlow keeps a pointer for good; null if this version calls no watchers.
void* MakeWatcher(ReportTensor report);

}  // namespace pykernels::oneflow
