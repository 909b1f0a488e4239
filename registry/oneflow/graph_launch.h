// Works around graphs that end before OneFlow has recorded that they run.
#pragma once

namespace pykernels::oneflow {

// Makes OneFlow record each run before it starts. Each version has its own implementation.
void NoteRunsEarly();

}  // namespace pykernels::oneflow
