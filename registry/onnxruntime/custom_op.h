// The base of all our custom ops, including those of PopART's C++, and their registration with sessions.
#pragma once

#include <climits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../host/mutex.h"
#include "declarations/onnxruntime.h"

namespace pykernels::onnxruntime {

// The base of a `Variant`, the type of a `Node`. A variant has `inputs` and `outputs`, with one entry for each input
// and output of the node.
template <typename Variant, typename Node>
struct CustomOp : OrtCustomOp {
  CustomOp() : OrtCustomOp{} {
    version = kOrtVersion;
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp* op) { return static_cast<const Variant*>(op)->inputs.size(); };
    GetOutputTypeCount = [](const OrtCustomOp* op) { return static_cast<const Variant*>(op)->outputs.size(); };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return 0; };
    // Required functions for variadic inputs and outputs, which our ops do not have.
    GetVariadicInputMinArity = GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return INT_MAX; };
  }
};

using OpsByDomain = std::map<std::string, std::vector<const OrtCustomOp*>>;

// Adds these ops, which live as long as the process, to a session's options.
inline OrtStatus* AddDomains(const OpsByDomain& ops, OrtSessionOptions* options, const OrtApi& api) {
  // A domain in a session's options must outlive all sessions created with them, so none is ever deleted.
  static Mutex mutex;
  static auto* domains = new std::map<std::pair<const OrtApi*, std::vector<const OrtCustomOp*>>, OrtCustomOpDomain*>;
  std::lock_guard lock(mutex);
  for (const auto& [name, of_domain] : ops) {
    OrtCustomOpDomain*& domain = (*domains)[{&api, of_domain}];
    if (!domain) {
      OrtCustomOpDomain* made;
      if (OrtStatus* status = api.CreateCustomOpDomain(name.c_str(), &made)) return status;
      for (const OrtCustomOp* op : of_domain) {
        if (OrtStatus* status = api.CustomOpDomain_Add(made, op)) return status;
      }
      domain = made;
    }
    if (OrtStatus* status = api.AddCustomOpDomain(options, domain)) return status;
  }
  return nullptr;
}

}  // namespace pykernels::onnxruntime
