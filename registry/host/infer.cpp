// Infers shapes and dtypes of an instance's tensors.
#include <algorithm>

#include "dtype.h"
#include "error.h"
#include "instance.h"
#include "specialization.h"

namespace pykernels {
namespace {

constexpr int32_t kDtypes[] = {PK_FLOAT32, PK_INVALID_DTYPE, PK_FLOAT64, PK_FLOAT16, PK_INT64,
                               PK_INT32,   PK_UINT8,         PK_INT8,    PK_BOOL};
// When inputs have different dtypes, nearly all are values and indices.
constexpr int32_t kMixed[] = {PK_FLOAT32, PK_INT64, PK_INT32};
constexpr size_t kMostMixedInputs = 4;

// Substitutes for unknown dimensions. Both are divisible by every number up to 16.
constexpr int64_t kProbes[] = {720720, 1441440};

// More elements than this are not addressable in any dtype.
constexpr int64_t kMostElements = INT64_MAX / 8;

// Returns the dtype of the first tensor that has one.
int32_t FirstDtype(const Tensors& tensors) {
  for (const pk_tensor& tensor : tensors) {
    if (tensor.dtype != PK_INVALID_DTYPE) return tensor.dtype;
  }
  return PK_INVALID_DTYPE;
}

void FillDtypes(int32_t dtype, Tensors* tensors) {
  for (pk_tensor& tensor : *tensors) {
    if (tensor.dtype == PK_INVALID_DTYPE) tensor.dtype = dtype;
  }
}

void SetDtypes(const std::vector<int32_t>& dtypes, Tensors* tensors) {
  for (size_t i = 0; i < tensors->size(); ++i) (*tensors)[i].dtype = dtypes[i];
}

void CopyShapes(const Tensors& from, Tensors* to) {
  for (size_t i = 0; i < to->size(); ++i) CopyShape(from[i], &(*to)[i]);
}

void CopyDtypes(const Tensors& from, Tensors* to) {
  for (size_t i = 0; i < to->size(); ++i) (*to)[i].dtype = from[i].dtype;
}

// Returns whether `tensor` has the shape of `given` with the unknown dimensions filled in.
bool Completes(const pk_tensor& tensor, const pk_tensor& given) {
  if (tensor.ndim != given.ndim) return false;
  for (int32_t axis = 0; axis < given.ndim; ++axis) {
    if (given.dims[axis] >= 0 && tensor.dims[axis] != given.dims[axis]) return false;
  }
  return true;
}

bool HasFewEnoughElements(const pk_tensor& tensor) {
  int64_t room = kMostElements;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.dims[axis] == 0) return true;
    room /= tensor.dims[axis];
  }
  return room > 0;
}

// Appends every assignment of dtypes from kMixed to `n` inputs.
void AppendMixed(size_t n, std::vector<std::vector<int32_t>>* guesses) {
  size_t ways = 1;
  for (size_t i = 0; i < n; ++i) ways *= std::size(kMixed);
  for (size_t way = 0; way < ways; ++way) {
    std::vector<int32_t> guess;
    for (size_t i = 0, rest = way; i < n; ++i, rest /= std::size(kMixed)) {
      guess.push_back(kMixed[rest % std::size(kMixed)]);
    }
    guesses->push_back(guess);
  }
}

}  // namespace

void Instance::Infer(Tensors* inputs, Tensors* outputs) const {
  pk_instance view = View(*inputs, *outputs);
  op_->Infer(&view);
}

void Instance::InferShapes(Tensors* inputs, Tensors* outputs) const {
  const bool are_known = AreKnown(*inputs);
  if (are_known) {
    const std::shared_ptr<const Specialization> recent =
        FindRecent([&](const Tensors& known) { return SameShapes(known, *inputs); });
    if (recent) {
      RememberShapes(*inputs);
      return CopyShapes(recent->outputs(), outputs);
    }
  }
  const Tensors given = *inputs;
  try {
    if (are_known) {
      InferWithAnyDtypes(inputs, outputs);
    } else if (op_->declared().flags & PK_OP_INFERS_INPUTS) {
      CompleteShapes(inputs, outputs);
    } else {
      ProbeShapes(*inputs, outputs);
    }
  } catch (const Error& error) {
    // An op cannot complete its other inputs without the first one, which is the data.
    if (!inputs->empty() && !IsKnown(inputs->front())) return;
    FailInference(given, error.what());
  }
  if (AreKnown(*inputs)) RememberShapes(*inputs);
}

void Instance::CompleteShapes(Tensors* inputs, Tensors* outputs) const {
  Tensors completed = *inputs;
  for (pk_tensor& input : completed) {
    // Definitions accept only shapes that are entirely known or entirely unknown.
    if (!IsKnown(input)) input.ndim = -1;
  }
  InferWithAnyDtypes(&completed, outputs);
  for (size_t i = 0; i < inputs->size(); ++i) {
    pk_tensor& input = (*inputs)[i];
    if (completed[i].ndim < 0) continue;
    if (input.ndim >= 0 && !Completes(completed[i], input)) {
      Fail(kCallError, "'", input_names_[i], "' has to be ", Describe(completed[i]));
    }
    CopyShape(completed[i], &input);
  }
}

void Instance::ProbeShapes(const Tensors& inputs, Tensors* outputs) const {
  for (const pk_tensor& input : inputs) {
    if (input.ndim < 0) return;
  }
  // A dimension of an output is known if it is the same for both substitutes.
  Tensors probed[2] = {blank_outputs_, blank_outputs_};
  for (size_t i = 0; i < 2; ++i) {
    Tensors substituted = inputs;
    for (pk_tensor& input : substituted) {
      std::replace_if(input.dims, input.dims + input.ndim, [](int64_t dim) { return dim < 0; }, kProbes[i]);
    }
    InferWithAnyDtypes(&substituted, &probed[i]);
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const pk_tensor& a = probed[0][i];
    const pk_tensor& b = probed[1][i];
    if (a.ndim != b.ndim) continue;
    (*outputs)[i].ndim = a.ndim;
    for (int32_t axis = 0; axis < a.ndim; ++axis) {
      (*outputs)[i].dims[axis] = a.dims[axis] == b.dims[axis] ? a.dims[axis] : -1;
    }
  }
}

void Instance::InferWithAnyDtypes(Tensors* inputs, Tensors* outputs) const {
  std::string first_error;
  for (const std::vector<int32_t>& dtypes : GuessDtypes()) {
    Tensors tried = *inputs;
    Tensors inferred = blank_outputs_;
    SetDtypes(dtypes, &tried);
    try {
      Infer(&tried, &inferred);
      if (AreKnown(tried)) RequireComplete(inferred);
      CopyShapes(tried, inputs);
      return CopyShapes(inferred, outputs);
    } catch (const Error& error) {
      if (first_error.empty()) first_error = error.what();
    }
  }
  throw Error(kCallError, first_error);
}

std::vector<std::vector<int32_t>> Instance::GuessDtypes() const {
  std::vector<std::vector<int32_t>> guesses;
  const size_t n = blank_inputs_.size();
  const std::shared_ptr<const Specialization> latest =
      FindRecent([](const Tensors&) { return true; });
  if (latest) {
    guesses.emplace_back();
    for (const pk_tensor& input : latest->inputs()) guesses.back().push_back(input.dtype);
  }
  for (int32_t dtype : kDtypes) guesses.emplace_back(n, dtype);
  if (n > 1 && n <= kMostMixedInputs) AppendMixed(n, &guesses);
  return guesses;
}

void Instance::InferDtypes(Tensors* inputs, Tensors* outputs) const {
  const int32_t first = FirstDtype(*inputs);
  if (first == PK_INVALID_DTYPE && !inputs->empty()) return;
  const bool completes = op_->declared().flags & PK_OP_INFERS_INPUTS;
  if (!completes) FillDtypes(first, inputs);
  const std::shared_ptr<const Specialization> recent =
      FindRecent([&](const Tensors& known) { return SameDtypes(known, *inputs); });
  if (recent) return CopyDtypes(recent->outputs(), outputs);
  Tensors shaped = AcceptedShapes();
  CopyDtypes(*inputs, &shaped);
  const Tensors given = shaped;
  Tensors inferred = blank_outputs_;
  try {
    Infer(&shaped, &inferred);
  } catch (const Error& error) {
    if (AreKnown(shaped)) FailInference(given, error.what());
    // The missing shapes may be why the definition fails. Outputs without a dtype take that of the first input.
    FillDtypes(first, &inferred);
  }
  FillDtypes(first, &shaped);
  CopyDtypes(shaped, inputs);
  RequireSupportedDtypes(*inputs, input_names_);
  RequireSupportedDtypes(inferred, output_names_);
  CopyDtypes(inferred, outputs);
}

std::string Instance::DescribeInputs(const Tensors& inputs) const {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += Join(i ? ", " : "", input_names_[i], ": ", Describe(inputs[i]));
  }
  return text;
}

void Instance::FailInference(const Tensors& inputs, const std::string& why) const {
  Fail(kCallError, "op '", label_, inputs.empty() ? "'" : "' for ", DescribeInputs(inputs), ": ", why);
}

void Instance::RequireSupportedDtypes(const Tensors& tensors, const std::vector<std::string>& names) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (ItemSize(tensors[i].dtype)) continue;
    Fail(kCallError, "op '", label_, "': '", names[i], "' has dtype ", DtypeName(tensors[i].dtype),
         ", but kernels compute with ", SupportedDtypes());
  }
}

void Instance::RefuseComplex(const Tensors& outputs, const char* framework) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype != PK_COMPLEX64 && outputs[i].dtype != PK_COMPLEX128) continue;
    Fail(kCallError, "op '", label_, "': '", output_names_[i], "' has dtype ", DtypeName(outputs[i].dtype),
         ", but ", framework, " has no tensors of complex numbers for ops; return their parts as two outputs, or call ",
         "the op in PyTorch, JAX or on NumPy's arrays");
  }
}

void Instance::RequireComplete(const Tensors& outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].ndim > PK_MAX_NDIM || !IsKnown(outputs[i])) {
      Fail(kDefinitionError, "the definition infers no shape for its output '", output_names_[i], "'");
    }
    if (!HasFewEnoughElements(outputs[i])) {
      Fail(kDefinitionError, "the definition infers ", Describe(outputs[i]), " for its output '", output_names_[i],
           "', which is too large");
    }
  }
}

}  // namespace pykernels
