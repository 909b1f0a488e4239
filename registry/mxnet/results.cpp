#include "results.h"

#include <cstdlib>
#include <cstring>

#include "../host/dtype.h"
#include "../host/error.h"

namespace pykernels::mxnet {
namespace {

// A dense array with its data, or none.
Array ReadIfDense(NDArrayHandle handle) {
  int storage = kStorageNone;
  Check(Api().NDArrayGetStorageType(handle, &storage));
  if (storage != kStorageDefault) return Array();
  Array array = ReadType(handle);
  if (array.type.ndim < 0 || ItemSize(array.type.dtype) == 0 || CountElements(array.type) == 0) return Array();
  void* data = nullptr;
  Check(Api().NDArrayGetData(handle, &data));
  SetData(data, &array);
  return array;
}

// The bytes that mark one element: a NaN in floating point that arithmetic does not yield.
std::string MarkOf(int32_t dtype) {
  std::string mark(ItemSize(dtype), '\xa5');
  if (dtype == PK_FLOAT16) return {"\xa5\x7e", 2};
  if (dtype == PK_BFLOAT16) return {"\xe5\x7f", 2};
  if (dtype == PK_FLOAT32) mark.replace(2, 2, "\xe5\x7f");
  if (dtype == PK_FLOAT64) mark.replace(6, 2, "\xfd\x7f");
  return mark;
}

// Whether an array full of marks cannot be a result.
bool CanBeMarked(const Array& array) {
  return array.type.dtype != PK_BOOL && (MarkOf(array.type.dtype).back() == '\x7f' || CountBytes(array.type) >= 8);
}

void FillWithMarks(const Array& array) {
  const std::string mark = MarkOf(array.type.dtype);
  char* at = static_cast<char*>(array.data);
  for (size_t i = CountElements(array.type); i > 0; --i, at += mark.size()) std::memcpy(at, mark.data(), mark.size());
}

bool HasOnlyMarks(const Array& array) {
  const std::string mark = MarkOf(array.type.dtype);
  const char* at = static_cast<const char*>(array.data);
  // Where something is assigned, the first elements tell.
  for (size_t i = CountElements(array.type); i > 0; --i, at += mark.size()) {
    if (std::memcmp(at, mark.data(), mark.size()) != 0) return false;
  }
  return true;
}

// MXNet's engine for debugging, which runs everything at once.
bool IsNaiveEngine() {
  const char* name = std::getenv("MXNET_ENGINE_TYPE");
  return name && std::strcmp(name, "NaiveEngine") == 0;
}

}  // namespace

Results::Results(Pass pass, int n, void** handles, const int* tags, const int* requests) : pass_(pass) {
  const int wanted = pass == Pass::kForward ? kTagOutput : kTagInputGradient;
  for (int i = 0; i < n; ++i) {
    const Array array = ReadIfDense(handles[i]);
    if (tags[i] != wanted) {
      if (!array.is_none) read_.push_back(array);
      continue;
    }
    const size_t position = results_.size();
    results_.push_back({array, requests[position], position});
    NDArrayHandle share = nullptr;
    Check(Api().ShallowCopyNDArray(handles[i], &share));
    shares_.push_back(share);
  }
}

Results::~Results() {
  for (NDArrayHandle share : shares_) Api().NDArrayFree(share);
}

bool Results::Overlaps(const Array& array) const {
  for (const Array& other : read_) {
    if (Overlap(array.data, CountBytes(array.type), other.data, CountBytes(other.type))) return true;
  }
  return false;
}

void Results::Prepare() {
  for (Result& result : results_) {
    const Array& array = result.array;
    if (array.is_none || result.request != kReqWrite || Overlaps(array)) continue;
    result.is_marked = pass_ == Pass::kForward && CanBeMarked(array);
    if (result.is_marked) {
      FillWithMarks(array);
    } else {
      std::memset(array.data, 0, CountBytes(array.type));
    }
  }
}

void Results::FillAll() const {
  for (const Result& result : results_) {
    if (result.array.is_none || result.request == kReqNull) continue;
    FillFailed(result.array.type.dtype, result.array.data, CountElements(result.array.type));
  }
}

void Results::CheckAndFill() const {
  std::string missing;
  for (const Result& result : results_) {
    if (!failure_.empty() || !result.is_marked || !HasOnlyMarks(result.array)) continue;
    missing += Join(missing.empty() ? "" : ", ", "out_data[", result.position, "] ('", names_[result.position], "')");
  }
  if (failure_.empty() && missing.empty()) return;
  FillAll();
  throw dmlc::Error(failure_.empty() ? unassigned_ + missing : failure_);
}

void Results::Conclude(std::unique_ptr<Results> results, const std::string& failure, const std::string& unassigned,
                       const std::vector<std::string>& names) {
  results->failure_ = failure;
  results->unassigned_ = unassigned;
  results->names_ = names;
  if (IsNaiveEngine() || results->shares_.empty()) return results->CheckAndFill();
  // MXNet keeps a failure on one of its threads in one place for all operators, where it may hit another than its own.
  // A failure in the engine belongs to the arrays that it writes.
  const auto run = [](void*, void* state) { static_cast<const Results*>(state)->CheckAndFill(); };
  const auto free = [](void* state) { delete static_cast<const Results*>(state); };
  const MXContext cpu{1, 0};
  std::vector<NDArrayHandle> written = results->shares_;
  Results* state = results.release();
  Check(Api().EnginePushSyncND(run, state, free, &cpu, nullptr, 0, written.data(), static_cast<int>(written.size()),
                               nullptr, 0, "PythonOperatorResults"));
}

}  // namespace pykernels::mxnet
