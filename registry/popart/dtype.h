// Element types under their names in models, in PopART and in Poplar.
#ifndef PYKERNELS_REGISTRY_POPART_DTYPE_H_
#define PYKERNELS_REGISTRY_POPART_DTYPE_H_

#include <poplar/Type.hpp>
#include <popart/datatype.hpp>

#include <string>

namespace popart_cpu {

// ONNX's number (TensorProto.DataType), and the type of a number; throws if PopART has none.
int OnnxNumber(popart::DataType type);
popart::DataType FromOnnxNumber(int number);
// What a tensor of it is in a program; throws if there is none.
poplar::Type DeviceType(popart::DataType type);
const std::string& Name(popart::DataType type);       // FLOAT
const std::string& NumpyName(popart::DataType type);  // float32

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_DTYPE_H_
