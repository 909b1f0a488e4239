// Makes ops node types of ONNX Runtime; compiled together with host.cpp.
#include "attributes.cpp"
#include "node.cpp"
#include "node_type.cpp"
#include "prepared.cpp"
#include "values.cpp"
