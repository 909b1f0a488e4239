// Lists of pk_tensor: dtypes and shapes of tensors, without their data.
#pragma once

#include <pykernels/definition.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pykernels {

using Tensors = std::vector<pk_tensor>;

// The address that kernels get for tensors without elements.
alignas(64) inline char nowhere[64];

void CopyShape(const pk_tensor& from, pk_tensor* to);

bool SameShape(const pk_tensor& a, const pk_tensor& b);
bool SameShapes(const Tensors& a, const Tensors& b);
bool SameDtypes(const Tensors& a, const Tensors& b);
bool SameTypes(const Tensors& a, const Tensors& b);

// Returns whether the rank and all dimensions are known.
bool IsKnown(const pk_tensor& tensor);
bool AreKnown(const Tensors& tensors);

// Count the elements and the bytes of a known tensor.
size_t CountElements(const pk_tensor& tensor);
size_t CountBytes(const pk_tensor& tensor);

// Returns "float32 (2, 3)" without unknown parts; an unknown dimension is "?".
std::string Describe(const pk_tensor& tensor);

// How many inputs or outputs a use of an op has: per argument, or in total. If neither is set, the minimum.
struct TensorCount {
  std::vector<int32_t> of_each;
  int32_t in_all = -1;

  std::string Text() const;
};

// Returns how many tensors each of `n` arguments stands for. `label` and `what` ("inputs", "outputs") name the op and
// the arguments in the error for an impossible or ambiguous count.
std::vector<int32_t> DistributeTensors(const pk_argument* arguments, int32_t n, const TensorCount& count,
                                       const std::string& label, const char* what);

// Returns tensors with only their argument set, `counts[i]` of argument i.
Tensors BlankTensors(const pk_argument* arguments, const std::vector<int32_t>& counts);

// Returns "x", or "x_0", "x_1" for an argument that stands for several tensors.
std::vector<std::string> NameTensors(const pk_argument* arguments, const std::vector<int32_t>& counts);

// Returns the position of a tensor, or -1.
int FindTensor(const Tensors& tensors, const std::string& argument, int32_t index);

}  // namespace pykernels
