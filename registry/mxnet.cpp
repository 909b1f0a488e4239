// The registrar for MXNet, one translation unit that is linked with host.cpp.
#include "mxnet/broken.cpp"
#include "mxnet/callbacks.cpp"
#include "mxnet/engine.cpp"
#include "mxnet/operator.cpp"
#include "mxnet/property.cpp"
#include "mxnet/python_operator.cpp"
#include "mxnet/registrar.cpp"
#include "mxnet/results.cpp"
