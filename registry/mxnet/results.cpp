#include "results.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../host/dtype.h"
#include "../host/error.h"
#include "broken.h"
#include "layout.h"

namespace pykernels::mxnet {
namespace {

bool IsEmpty(NDArrayHandle handle) {
  int ndim = 0;
  const int* dims = nullptr;
  Check(Api().NDArrayGetShapeEx(handle, &ndim, &dims));
  return std::find(dims, dims + std::max(ndim, 0), 0) != dims + std::max(ndim, 0);
}

// Returns the pattern that fills an output before it is assigned: a NaN that arithmetic does not produce, or eight
// bytes that are unlikely to begin a result; zeros if the array is too small for those or is of bool.
std::string FillOf(const Array& array) {
  switch (array.type.dtype) {
    case PK_FLOAT16:
      return "\xa5\x7e";
    case PK_FLOAT32:
      return "\xa5\xa5\xe5\x7f";
    case PK_FLOAT64:
      return "\xa5\xa5\xa5\xa5\xa5\xa5\xfd\x7f";
    default:
      const bool has_room = array.type.dtype != PK_BOOL && CountBytes(array.type) >= 8;
      return has_room ? "\xc6\x5b\xa9\x13\x7e\xd4\x38\xa1" : std::string(1, '\0');
  }
}

void Fill(const Array& array) {
  const std::string fill = FillOf(array);
  const size_t n_bytes = CountBytes(array.type);
  char* at = static_cast<char*>(array.data);
  for (size_t i = 0; i < n_bytes; i += fill.size()) {
    std::memcpy(at + i, fill.data(), std::min(fill.size(), n_bytes - i));
  }
}

bool HasOnlyFill(const Array& array) {
  const std::string fill = FillOf(array);
  const size_t n_bytes = CountBytes(array.type);
  const char* at = static_cast<const char*>(array.data);
  // In an assigned array, the first elements already differ.
  for (size_t i = 0; i < n_bytes; i += fill.size()) {
    if (std::memcmp(at + i, fill.data(), std::min(fill.size(), n_bytes - i)) != 0) return false;
  }
  return true;
}

// Returns the number of completed operations that wrote the array. Empty unless the layout of arrays is known. Writes
// through a raw pointer are not counted.
std::optional<size_t> CountWrites(NDArrayHandle handle) {
  if (!kIsSameLayout || !is_known_build) return std::nullopt;
  // Variables of the engine without threads begin with the same members.
  return __atomic_load_n(&(*static_cast<const ArrayChunk* const*>(handle))->variable->n_writes, __ATOMIC_ACQUIRE);
}

// Returns whether MXNet uses its debugging engine, which runs everything immediately.
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
    shares_.push_back(Share(handles[i]));
    results_.push_back({array, requests[results_.size()], CountWrites(handles[i]), "", false});
  }
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
    if (array.is_none) continue;
    if (result.request == kReqAdd) result.before.assign(static_cast<char*>(array.data), CountBytes(array.type));
    if (result.request != kReqWrite || Overlaps(array)) continue;
    result.is_filled = pass_ == Pass::kForward;
    if (result.is_filled) {
      Fill(array);
    } else {
      std::memset(array.data, 0, CountBytes(array.type));
    }
  }
}

bool Results::IsUnassigned(size_t i) const {
  const Result& result = results_[i];
  if (pass_ != Pass::kForward || result.request == kReqNull || IsEmpty(shares_[i].get())) return false;
  if (result.is_filled && !HasOnlyFill(result.array)) return false;
  if (result.n_writes) return CountWrites(shares_[i].get()) == result.n_writes;
  return result.is_filled && FillOf(result.array).size() > 1;
}

bool Results::AreAssigned() const {
  if (pass_ == Pass::kBackward) return true;  // a gradient that is not assigned is zero
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& result = results_[i];
    const bool has_written = result.n_writes && CountWrites(shares_[i].get()) != result.n_writes;
    if (result.request != kReqNull && !has_written) return false;
  }
  return true;
}

std::vector<const void*> Results::Requested() const {
  std::vector<const void*> data;
  for (const Result& result : results_) {
    if (!result.array.is_none && result.request != kReqNull) data.push_back(result.array.data);
  }
  return data;
}

void Results::FillAll() const {
  for (const Result& result : results_) {
    if (result.array.is_none || result.request == kReqNull) continue;
    if (result.request == kReqAdd) {
      std::memcpy(result.array.data, result.before.data(), result.before.size());
    } else {
      FillFailed(result.array.type.dtype, result.array.data, CountElements(result.array.type));
    }
  }
}

void Results::CheckAndFill() const {
  std::string missing;
  for (size_t i = 0; failure_.empty() && i < results_.size(); ++i) {
    if (IsUnassigned(i)) missing += Join(missing.empty() ? "" : ", ", "out_data[", i, "] ('", names_[i], "')");
  }
  if (failure_.empty() && missing.empty()) return;
  FillAll();
  const std::exception_ptr failure =
      std::make_exception_ptr(Failure(failure_.empty() ? unassigned_ + missing : failure_));
  if (!MarkResultsBroken(Requested(), failure)) std::rethrow_exception(failure);
}

void Results::Conclude(std::unique_ptr<Results> results, const std::string& failure, const std::string& unassigned,
                       const std::vector<std::string>& names) {
  if (failure.empty() && results->AreAssigned()) return;
  results->failure_ = failure;
  results->unassigned_ = unassigned;
  results->names_ = names;
  if (IsNaiveEngine() || results->shares_.empty()) return results->CheckAndFill();
  // Fail in the engine, where a failure belongs to the arrays that the operation writes. A failure on one of MXNet's
  // threads is stored in one place for all operators and may hit another operator.
  const auto run = [](void*, void* state) { static_cast<const Results*>(state)->CheckAndFill(); };
  const auto free = [](void* state) { delete static_cast<const Results*>(state); };
  const MXContext cpu{1, 0};
  std::vector<NDArrayHandle> written = Handles(results->shares_);
  Results* state = results.release();
  Check(Api().EnginePushSyncND(run, state, free, &cpu, nullptr, 0, written.data(), static_cast<int>(written.size()),
                               nullptr, 0, "PythonOperatorResults"));
}

}  // namespace pykernels::mxnet
