// Lists of pk_tensor: the dtypes and shapes of some tensors, without their data.
#ifndef PYKERNELS_REGISTRY_HOST_TENSORS_H_
#define PYKERNELS_REGISTRY_HOST_TENSORS_H_

#include <pykernels/definition.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pykernels {

using Tensors = std::vector<pk_tensor>;

bool SameShape(const pk_tensor& a, const pk_tensor& b);
bool SameShapes(const Tensors& a, const Tensors& b);
bool SameDtypes(const Tensors& a, const Tensors& b);
bool SameTypes(const Tensors& a, const Tensors& b);

// Whether the rank and all dimensions are known.
bool IsKnown(const pk_tensor& tensor);
bool AreKnown(const Tensors& tensors);

// Both for tensors that are known.
size_t CountElements(const pk_tensor& tensor);
size_t CountBytes(const pk_tensor& tensor);

// "float32 (2, 3)", without what is unknown; an unknown dimension is "?".
std::string Describe(const pk_tensor& tensor);

// How many tensors each of `n` arguments stands for, `total` in all; -1 asks for the least number. `label` and `what`
// ("inputs", "outputs") are for the error if that many cannot be.
std::vector<int32_t> DistributeTensors(const pk_argument* arguments, int32_t n, int32_t total,
                                       const std::string& label, const char* what);

// Tensors that know their argument and nothing else, `counts[i]` of argument i.
Tensors BlankTensors(const pk_argument* arguments, const std::vector<int32_t>& counts);

// "x", or "x_0", "x_1" for an argument that stands for several.
std::vector<std::string> NameTensors(const pk_argument* arguments, const std::vector<int32_t>& counts);

// The position of a tensor, or -1.
int FindTensor(const Tensors& tensors, const std::string& argument, int32_t index);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_TENSORS_H_
