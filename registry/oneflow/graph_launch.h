// Graphs that end before they have begun. OneFlow 0.8 starts the run of a graph, then notes that it runs; the end of the
// run takes the note away. A run of a few elements may end in between, at which OneFlow crashes or waits forever.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
#define PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_

namespace pykernels::oneflow {

// From now on runs are noted before they start. Does nothing for a OneFlow that is built otherwise than 0.8.0.
void NoteRunsEarly();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_GRAPH_LAUNCH_H_
