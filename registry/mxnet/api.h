// Our declarations of the part of MXNet's C API that the registrar uses, with the layouts and numbers of MXNet 1.9.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../host/error.h"

extern "C" {

typedef void* NDArrayHandle;
typedef void* SymbolHandle;

typedef int (*MXCallback)(void);

// Functions that MXNet calls. The last argument of each is the context at the same position.
struct MXCallbackList {
  int num_callbacks;
  MXCallback* callbacks;
  void** contexts;
};

typedef int (*MXPropCreator)(const char* op_type, int num_kwargs, const char** keys, const char** values,
                             struct MXCallbackList* ret);

struct MXContext {
  int device_type;  // 1 is the CPU
  int device_id;
};

// Functions of libmxnet. Each returns 0 unless it fails.
struct MXApi {
  int (*CustomOpRegister)(const char* op_type, MXPropCreator creator);
  int (*NDArrayGetData)(NDArrayHandle handle, void** data);
  int (*NDArrayGetShapeEx)(NDArrayHandle handle, int* ndim, const int** dims);
  int (*NDArrayGetDType)(NDArrayHandle handle, int* dtype);
  int (*NDArrayGetStorageType)(NDArrayHandle handle, int* storage_type);
  int (*NDArrayFree)(NDArrayHandle handle);
  int (*ShallowCopyNDArray)(NDArrayHandle handle, NDArrayHandle* copy);
  int (*EnginePushSyncND)(void (*run)(void* context, void* state), void* state, void (*free)(void* state),
                          const struct MXContext* context, NDArrayHandle* read, int n_read, NDArrayHandle* written,
                          int n_written, const void* property, int priority, const char* name);
  int (*AutogradIsRecording)(bool* recording);
  int (*GetOpHandle)(const char* name, void** op);
  int (*SymbolCreateAtomicSymbol)(const void* op, uint32_t n, const char** keys, const char** values,
                                  SymbolHandle* symbol);
  int (*SymbolFree)(SymbolHandle symbol);
  const char* (*GetLastError)();
};

}  // extern "C"

namespace dmlc {

// The exception that MXNet expects from its own code and from others. It is recognized by this name.
struct Error : public std::runtime_error {
  explicit Error(const std::string& text) : std::runtime_error(text) {}
};

}  // namespace dmlc

namespace pykernels::mxnet {

// OpReqType.
enum Req { kReqNull = 0, kReqWrite = 1, kReqWriteInplace = 2, kReqAdd = 3 };

// NDArrayStorageType.
enum Storage { kStorageNone = -1, kStorageDefault = 0, kStorageRowSparse = 1, kStorageCsr = 2 };

// The role of an array in a pass of a custom operator.
enum Tag { kTagInput = 0, kTagOutput = 1, kTagInputGradient = 2, kTagOutputGradient = 3, kTagState = 4 };

constexpr int kUnknownType = -1;

// The functions, which are set once, before the first op is registered.
inline MXApi& Api() {
  static MXApi api{};
  return api;
}

// Throws MXNet's last error unless `status`, which a function of the API returned, is 0.
inline void Check(int status) {
  if (status != 0) throw Error(kPykernelsError, Api().GetLastError());
}

struct FreeArray {
  void operator()(NDArrayHandle handle) const { Api().NDArrayFree(handle); }
};

// A handle of an NDArray that is freed at the end of its scope.
using OwnedArray = std::unique_ptr<void, FreeArray>;

inline std::vector<NDArrayHandle> Handles(const std::vector<OwnedArray>& arrays) {
  std::vector<NDArrayHandle> handles;
  for (const OwnedArray& array : arrays) handles.push_back(array.get());
  return handles;
}

// Returns another handle of the same array.
inline OwnedArray Share(NDArrayHandle array) {
  NDArrayHandle share = nullptr;
  Check(Api().ShallowCopyNDArray(array, &share));
  return OwnedArray(share);
}

// Runs a function that MXNet calls; MXNet catches only its own exception.
template <typename Body>
int Guard(const Body& body) {
  try {
    body();
    return 1;
  } catch (const std::exception& error) {
    throw dmlc::Error(TextOf(error));
  }
}

}  // namespace pykernels::mxnet
