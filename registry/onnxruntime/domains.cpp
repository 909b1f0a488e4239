#include "domains.h"

#include <cstdio>

#include "../host/error.h"
#include "node.h"
#include "values.h"

namespace pykernels::onnxruntime {

void AddDomains(const std::vector<const NodeType*>& types, OrtSessionOptions* options, const OrtApi& api) {
  OpsByDomain ops;
  for (const NodeType* type : types) {
    for (const auto& variant : type->variants()) ops[type->domain()].push_back(variant.get());
  }
  Check(api, AddDomains(ops, options, api));
}

}  // namespace pykernels::onnxruntime

// The function that ONNX Runtime calls in a library of custom ops.
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
  using namespace pykernels::onnxruntime;
  const OrtApi* api = base->GetApi(kOrtVersion);
  if (!api) {
    // Version 1 of the API suffices to report this.
    const std::string what = pykernels::Join("these ops need ONNX Runtime 1.", kOrtVersion, " or newer, not ",
                                             base->GetVersionString());
    return base->GetApi(1)->CreateStatus(ORT_FAIL, pykernels::WithCode(pykernels::kLoadError, what).c_str());
  }
  return Report(*api, [&] {
    // Requesting a newer version than the library has would print to the console, so use its own version.
    unsigned minor = kOrtVersion;
    std::sscanf(base->GetVersionString(), "1.%u", &minor);
    SetOrtVersion(minor);
    AddDomains(OfferedTypes(), options, *api);
  });
}
