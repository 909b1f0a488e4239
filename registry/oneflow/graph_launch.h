// Works around graphs that end before OneFlow has recorded that they run.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
#define PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_

namespace pykernels::oneflow {

// Makes OneFlow record each run before it starts. Each version has its own implementation.
void NoteRunsEarly();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
