// How a library runs its ops without Python; goes with host.cpp and, for ONNX Runtime, onnxruntime.cpp.
#include "library/services.cpp"
