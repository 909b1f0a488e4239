// The parts for OneFlow 0.8 alone.
#include "graph_gradient.cpp"
#include "graph_launch.cpp"
#include "watcher.cpp"
