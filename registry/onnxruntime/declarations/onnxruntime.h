// Our declarations of the parts of ONNX Runtime's C interface that we use, because its packages contain no headers.
//
// Both tables only grow at their end, so positions never change. The functions declared here exist from version 1.17
// on, unless noted.
#pragma once

#include <cstddef>
#include <cstdint>

struct OrtApi;
struct OrtCustomOp;
struct OrtCustomOpDomain;
struct OrtKernelContext;
struct OrtKernelInfo;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);  // null if the library is older
  const char* (*GetVersionString)();
};

// Functions that return a status return null if all went well.
struct OrtApi {
  using Unused = void (*)();

  OrtStatus* (*CreateStatus)(int code, const char* message);
  Unused unused_1[1];
  const char* (*GetErrorMessage)(const OrtStatus* status);
  Unused unused_3[23];
  OrtStatus* (*CreateCustomOpDomain)(const char* domain, OrtCustomOpDomain** out);
  OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain* domain, const OrtCustomOp* op);
  OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions* options, OrtCustomOpDomain* domain);
  Unused unused_29[22];
  OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** out);
  Unused unused_52[8];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info, int* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* dims, size_t count);
  Unused unused_63[2];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out);
  Unused unused_66[19];
  OrtStatus* (*KernelInfoGetAttribute_float)(const OrtKernelInfo* info, const char* name, float* out);
  OrtStatus* (*KernelInfoGetAttribute_int64)(const OrtKernelInfo* info, const char* name, int64_t* out);
  OrtStatus* (*KernelInfoGetAttribute_string)(const OrtKernelInfo* info, const char* name, char* out, size_t* size);
  OrtStatus* (*KernelContext_GetInputCount)(const OrtKernelContext* context, size_t* out);
  OrtStatus* (*KernelContext_GetOutputCount)(const OrtKernelContext* context, size_t* out);
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext* context, size_t index, const OrtValue** out);
  OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext* context, size_t index, const int64_t* dims, size_t ndim,
                                        OrtValue** out);
  Unused unused_92[1];
  void (*ReleaseStatus)(OrtStatus* status);
  Unused unused_94[5];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info);
  Unused unused_100[43];
  // Returns the address of an element; fails if the index is out of range.
  OrtStatus* (*TensorAt)(OrtValue* value, const int64_t* index, size_t ndim, void** out);
  Unused unused_144[18];
  OrtStatus* (*KernelInfoGetAttributeArray_float)(const OrtKernelInfo* info, const char* name, float* out,
                                                  size_t* size);
  OrtStatus* (*KernelInfoGetAttributeArray_int64)(const OrtKernelInfo* info, const char* name, int64_t* out,
                                                  size_t* size);
  Unused unused_164[110];
  // Calls run(data, i) for every i in [0, total) on the session's threads, and waits for all.
  OrtStatus* (*KernelContext_ParallelFor)(const OrtKernelContext* context, void (*run)(void* data, size_t i),
                                          size_t total, size_t n_batches, void* data);
  Unused unused_275[43];
  OrtStatus* (*GetTensorSizeInBytes)(const OrtValue* value, size_t* out);  // from version 1.23 on
  Unused unused_319[95];
  // From version 1.24 on; the dimensions belong to the value.
  OrtStatus* (*GetTensorElementTypeAndShapeDataReference)(const OrtValue* value, int* type, const int64_t** dims,
                                                          size_t* ndim);
};

#define PK_ORT_PLACE(function, place) \
  static_assert(offsetof(OrtApi, function) == (place) * sizeof(void*), #function " is not in its place")
PK_ORT_PLACE(GetErrorMessage, 2);
PK_ORT_PLACE(CreateCustomOpDomain, 26);
PK_ORT_PLACE(GetTensorMutableData, 51);
PK_ORT_PLACE(GetTensorElementType, 60);
PK_ORT_PLACE(GetTensorTypeAndShape, 65);
PK_ORT_PLACE(KernelInfoGetAttribute_float, 85);
PK_ORT_PLACE(ReleaseStatus, 93);
PK_ORT_PLACE(ReleaseTensorTypeAndShapeInfo, 99);
PK_ORT_PLACE(TensorAt, 143);
PK_ORT_PLACE(KernelInfoGetAttributeArray_float, 162);
PK_ORT_PLACE(KernelContext_ParallelFor, 274);
PK_ORT_PLACE(GetTensorSizeInBytes, 318);
PK_ORT_PLACE(GetTensorElementTypeAndShapeDataReference, 414);
#undef PK_ORT_PLACE

enum OrtErrorCode { ORT_FAIL = 1 };

// The kind of an input or output of an OrtCustomOp.
enum OrtCharacteristic { ORT_REQUIRED = 0, ORT_OPTIONAL = 1 };

// A node type for given types of its inputs and outputs; several with one name make up an op.
struct OrtCustomOp {
  uint32_t version;  // of this interface; newer libraries then read no members after its last one
  void* (*CreateKernel)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
  const char* (*GetName)(const OrtCustomOp* op);
  const char* (*GetExecutionProviderType)(const OrtCustomOp* op);
  int (*GetInputType)(const OrtCustomOp* op, size_t index);  // 0 for any type
  size_t (*GetInputTypeCount)(const OrtCustomOp* op);
  int (*GetOutputType)(const OrtCustomOp* op, size_t index);
  size_t (*GetOutputTypeCount)(const OrtCustomOp* op);
  void (*KernelCompute)(void* kernel, OrtKernelContext* context);
  void (*KernelDestroy)(void* kernel);
  int (*GetInputCharacteristic)(const OrtCustomOp* op, size_t index);
  int (*GetOutputCharacteristic)(const OrtCustomOp* op, size_t index);
  int (*GetInputMemoryType)(const OrtCustomOp* op, size_t index);
  int (*GetVariadicInputMinArity)(const OrtCustomOp* op);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp* op);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp* op);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp* op);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext* context);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp* op, void* context);
  int (*GetStartVersion)(const OrtCustomOp* op);
  int (*GetEndVersion)(const OrtCustomOp* op);
  void (*after_version_17[4])();
};

constexpr uint32_t kOrtVersion = 17;
constexpr uint32_t kOrtVersionWithSize = 23;
constexpr uint32_t kOrtVersionWithShapeReference = 24;
