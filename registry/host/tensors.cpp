#include "tensors.h"

#include <algorithm>

#include "dtype.h"
#include "error.h"

namespace pykernels {
namespace {

bool SameDtype(const pk_tensor& a, const pk_tensor& b) { return a.dtype == b.dtype; }

template <typename Same>
bool AllSame(const Tensors& a, const Tensors& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool IsRepeated(const pk_argument& argument) { return argument.variadic || argument.count > 1; }

// "1", "1 to 3" or "2 or more".
std::string CountText(int32_t least, int32_t most, bool unbounded) {
  if (unbounded) return Join(least, " or more");
  return least == most ? Join(least) : Join(least, " to ", most);
}

}  // namespace

bool SameShape(const pk_tensor& a, const pk_tensor& b) {
  return a.ndim == b.ndim && (a.ndim < 0 || std::equal(a.dims, a.dims + a.ndim, b.dims));
}

bool SameShapes(const Tensors& a, const Tensors& b) { return AllSame(a, b, SameShape); }

bool SameDtypes(const Tensors& a, const Tensors& b) { return AllSame(a, b, SameDtype); }

bool SameTypes(const Tensors& a, const Tensors& b) {
  return AllSame(a, b, [](const pk_tensor& x, const pk_tensor& y) { return SameDtype(x, y) && SameShape(x, y); });
}

bool IsKnown(const pk_tensor& tensor) {
  return tensor.ndim >= 0 &&
         std::all_of(tensor.dims, tensor.dims + tensor.ndim, [](int64_t dim) { return dim >= 0; });
}

bool AreKnown(const Tensors& tensors) { return std::all_of(tensors.begin(), tensors.end(), IsKnown); }

size_t CountElements(const pk_tensor& tensor) {
  size_t count = 1;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) count *= tensor.dims[axis];
  return count;
}

size_t CountBytes(const pk_tensor& tensor) { return CountElements(tensor) * ItemSize(tensor.dtype); }

std::string Describe(const pk_tensor& tensor) {
  std::string text = tensor.dtype == PK_INVALID_DTYPE ? "" : DtypeName(tensor.dtype);
  if (tensor.ndim < 0) return text.empty() ? "?" : text;
  text += text.empty() ? "(" : " (";
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    text += axis ? ", " : "";
    text += tensor.dims[axis] < 0 ? "?" : std::to_string(tensor.dims[axis]);
  }
  return text + (tensor.ndim == 1 ? ",)" : ")");
}

std::vector<int32_t> DistributeTensors(const pk_argument* arguments, int32_t n, int32_t total,
                                       const std::string& label, const char* what) {
  std::vector<int32_t> counts(n);
  int32_t least = 0;
  int32_t most = 0;
  bool unbounded = false;
  for (int32_t i = 0; i < n; ++i) {
    counts[i] = arguments[i].optional ? 0 : arguments[i].count;
    least += counts[i];
    most += arguments[i].count;
    unbounded = unbounded || arguments[i].variadic;
  }
  if (total < 0) return counts;
  int32_t left = total - least;
  // Optional arguments are given from the first on; what is left then belongs to the one that takes any number.
  for (int32_t i = 0; i < n; ++i) {
    if (arguments[i].optional && left >= arguments[i].count) {
      counts[i] = arguments[i].count;
      left -= counts[i];
    }
  }
  for (int32_t i = 0; i < n && left > 0; ++i) {
    if (!arguments[i].variadic) continue;
    counts[i] += left;
    left = 0;
  }
  if (left != 0) Fail("op '", label, "' has ", CountText(least, most, unbounded), " ", what, ", not ", total);
  return counts;
}

Tensors BlankTensors(const pk_argument* arguments, const std::vector<int32_t>& counts) {
  Tensors tensors;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int32_t k = 0; k < counts[i]; ++k) {
      pk_tensor tensor{};
      tensor.argument = arguments[i].name;
      tensor.index = k;
      tensor.dtype = PK_INVALID_DTYPE;
      tensor.ndim = -1;
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

std::vector<std::string> NameTensors(const pk_argument* arguments, const std::vector<int32_t>& counts) {
  std::vector<std::string> names;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int32_t k = 0; k < counts[i]; ++k) {
      names.push_back(IsRepeated(arguments[i]) ? Join(arguments[i].name, "_", k) : arguments[i].name);
    }
  }
  return names;
}

int FindTensor(const Tensors& tensors, const std::string& argument, int32_t index) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].index == index && argument == tensors[i].argument) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace pykernels
