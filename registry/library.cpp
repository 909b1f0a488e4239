// Runs a library's ops without Python; linked with host.cpp and, for ONNX Runtime, with onnxruntime/ops.cpp.
#include "library/services.cpp"
