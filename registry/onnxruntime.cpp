// How ops become node types of ONNX Runtime; goes with host.cpp. One translation unit, as that is.
#include "onnxruntime/attributes.cpp"
#include "onnxruntime/domains.cpp"
#include "onnxruntime/dtype.cpp"
#include "onnxruntime/node.cpp"
#include "onnxruntime/node_type.cpp"
#include "onnxruntime/prepared.cpp"
#include "onnxruntime/values.cpp"
