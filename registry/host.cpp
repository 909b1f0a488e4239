// What every registrar is made of. One translation unit compiles in half the time of its parts, because the standard
// headers are read once.
#include "host/attribute_value.cpp"
#include "host/attributes.cpp"
#include "host/backward.cpp"
#include "host/dtype.cpp"
#include "host/execute.cpp"
#include "host/gradient.cpp"
#include "host/infer.cpp"
#include "host/instance.cpp"
#include "host/literal.cpp"
#include "host/op.cpp"
#include "host/specialization.cpp"
#include "host/tensors.cpp"
