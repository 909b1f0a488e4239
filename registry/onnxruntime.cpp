// The registrar for ONNX Runtime, one translation unit that is linked with host.cpp.
#include "onnxruntime/ops.cpp"
#include "onnxruntime/registrar.cpp"
