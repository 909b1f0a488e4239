// The registrar for MXNet, which goes with host.cpp. One translation unit, as that is.
#include "mxnet/api.cpp"
#include "mxnet/build_id.cpp"
#include "mxnet/engine.cpp"
#include "mxnet/handles.cpp"
#include "mxnet/operator.cpp"
#include "mxnet/property.cpp"
#include "mxnet/registrar.cpp"
#include "mxnet/use.cpp"
