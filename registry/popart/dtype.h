// Converts element types between their names in models, in PopART and in Poplar.
#pragma once

#include <poplar/Type.hpp>
#include <popart/datatype.hpp>

#include <string>

namespace popart_cpu {

// Convert to and from ONNX's number (TensorProto.DataType); the latter throws if PopART has no such type.
int OnnxNumber(popart::DataType type);
popart::DataType FromOnnxNumber(int number);
// Returns the type of such a tensor in a program; throws if there is none.
poplar::Type DeviceType(popart::DataType type);
const std::string& Name(popart::DataType type);       // such as FLOAT
const std::string& NumpyName(popart::DataType type);  // such as float32

}  // namespace popart_cpu
