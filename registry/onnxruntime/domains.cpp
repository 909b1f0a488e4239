#include "domains.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "../host/error.h"
#include "node.h"
#include "values.h"

namespace pykernels::onnxruntime {
namespace {

// A domain of a session's options has to outlive all sessions that are made with them, so none is ever deleted.
OrtCustomOpDomain* FindDomain(const std::string& name, const std::vector<const NodeType*>& types, const OrtApi& api) {
  static std::mutex mutex;
  static auto* domains = new std::map<std::pair<const OrtApi*, std::vector<const NodeType*>>, OrtCustomOpDomain*>;
  std::lock_guard<std::mutex> lock(mutex);
  OrtCustomOpDomain*& domain = (*domains)[{&api, types}];
  if (domain) return domain;
  OrtCustomOpDomain* made;
  Check(api, api.CreateCustomOpDomain(name.c_str(), &made));
  for (const NodeType* type : types) {
    for (const auto& variant : type->variants()) Check(api, api.CustomOpDomain_Add(made, variant.get()));
  }
  return domain = made;
}

}  // namespace

void AddDomains(const std::vector<const NodeType*>& types, OrtSessionOptions* options, const OrtApi& api) {
  std::map<std::string, std::vector<const NodeType*>> by_name;
  for (const NodeType* type : types) by_name[type->domain()].push_back(type);
  for (const auto& [name, of_domain] : by_name) {
    Check(api, api.AddCustomOpDomain(options, FindDomain(name, of_domain, api)));
  }
}

}  // namespace pykernels::onnxruntime

// What ONNX Runtime looks for in a library of custom ops.
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
  using namespace pykernels::onnxruntime;
  const OrtApi* api = base->GetApi(kOrtVersion);
  if (!api) {
    // The first version has what it takes to say so.
    return base->GetApi(1)->CreateStatus(
        ORT_FAIL, pykernels::Join("these ops need ONNX Runtime 1.", kOrtVersion, " or newer, not ",
                                  base->GetVersionString()).c_str());
  }
  return Report(*api, [&] {
    // To ask a library for a newer version than it has writes to the console.
    unsigned minor = kOrtVersion;
    std::sscanf(base->GetVersionString(), "1.%u", &minor);
    SetOrtVersion(minor);
    AddDomains(OfferedTypes(), options, *api);
  });
}
