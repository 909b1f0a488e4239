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

bool CanBe(const pk_argument& argument, int32_t count) {
  return count == argument.count || (argument.variadic && count > argument.count) || (argument.optional && count == 0);
}

bool CanBe(const pk_argument* arguments, int32_t n, const std::vector<int32_t>& counts) {
  if (static_cast<int32_t>(counts.size()) != n) return false;
  for (int32_t i = 0; i < n; ++i) {
    if (!CanBe(arguments[i], counts[i])) return false;
  }
  return true;
}

// Returns "x, in (2 or more), bias (optional)".
std::string ListCounts(const pk_argument* arguments, int32_t n) {
  std::string text;
  for (int32_t i = 0; i < n; ++i) {
    text += (i ? ", " : "") + std::string(arguments[i].name);
    if (arguments[i].variadic) {
      text += Join(" (", arguments[i].count, " or more", arguments[i].optional ? ", or none)" : ")");
    } else if (arguments[i].count > 1) {
      text += Join(" (", arguments[i].count, arguments[i].optional ? ", or none)" : ")");
    } else if (arguments[i].optional) {
      text += " (optional)";
    }
  }
  return text;
}

// Returns possible counts, such as "(2, 1)".
std::string Example(const pk_argument* arguments, int32_t n) {
  TensorCount count;
  for (int32_t i = 0; i < n; ++i) count.of_each.push_back(std::max(1, arguments[i].count));
  return count.Text();
}

// Fills `counts` so that they sum to `total`, or with the minimum if `total` is -1; leaves it empty if several ways
// exist. Returns false if none exists.
bool Distribute(const pk_argument* arguments, int32_t n, int32_t total, std::vector<int32_t>* counts) {
  int32_t left = total;
  int32_t open = 0;  // variadic arguments
  int32_t optional = 0;
  for (int32_t i = 0; i < n; ++i) {
    counts->push_back(arguments[i].optional ? 0 : arguments[i].count);
    left -= counts->back();
    open += arguments[i].variadic;
    optional += arguments[i].optional;
  }
  if (total < 0 || left == 0) return true;
  if (left < 0) return false;
  if (open > 1 || (open == 1 && optional > 0)) {
    counts->clear();
    return true;
  }
  // Optional arguments are given in order from the first.
  for (int32_t i = 0; i < n && left > 0; ++i) {
    const int32_t more = arguments[i].variadic ? left : arguments[i].optional ? arguments[i].count : 0;
    (*counts)[i] += more;
    left -= more;
  }
  return left == 0;
}

}  // namespace

void CopyShape(const pk_tensor& from, pk_tensor* to) {
  to->ndim = from.ndim;
  std::copy(from.dims, from.dims + PK_MAX_NDIM, to->dims);
}

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

std::string TensorCount::Text() const {
  if (of_each.empty()) return std::to_string(in_all);
  std::string text;
  for (int32_t count : of_each) text += (text.empty() ? "(" : ", ") + std::to_string(count);
  return text + ")";
}

std::vector<int32_t> DistributeTensors(const pk_argument* arguments, int32_t n, const TensorCount& count,
                                       const std::string& label, const char* what) {
  std::vector<int32_t> counts = count.of_each;
  if (counts.empty() ? !Distribute(arguments, n, count.in_all, &counts) : !CanBe(arguments, n, counts)) {
    Fail(kCallError, "op '", label, "' has the ", what, " ", ListCounts(arguments, n), ", not ", count.Text(),
         " of them");
  }
  if (counts.empty() && n > 0) {
    Fail(kCallError, "op '", label, "': ", count.Text(), " ", what, " can be read in several ways, since it has ",
         ListCounts(arguments, n), "; say how many of each, as in ", Example(arguments, n));
  }
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
