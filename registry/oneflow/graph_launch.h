// Graphs that end before OneFlow has noted that they run.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
#define PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_

namespace pykernels::oneflow {

// From now on runs are noted before they start; in a folder of its own for each version.
void NoteRunsEarly();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
