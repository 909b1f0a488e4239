// A node of a session.
#pragma once

#include <exception>

#include "../host/attributes.h"
#include "../host/error.h"
#include "node_type.h"
#include "prepared.h"

namespace pykernels::onnxruntime {

// Safe to use from several threads at the same time.
class Node {
 public:
  Node(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info);

  const OrtApi& api() const { return api_; }
  void Run(OrtKernelContext* context) const;

 private:
  // Runs on inputs whose buffers are at the beginning of `data`.
  void RunOn(const Prepared& prepared, OrtKernelContext* context, void** data) const;

  const OrtApi& api_;
  const Variant& variant_;
  const PreparedTable prepared_;
};

// Returns the attributes that `op` declares, with its defaults for those that the node lacks. ONNX Runtime cannot list
// other attributes. A dtype is ONNX's number or its name; types without an ONNX attribute type are strings in Python's
// notation.
Attributes ReadAttributes(const pk_op& op, const std::string& label, const OrtApi& api, const OrtKernelInfo* info);

// Runs `body` and returns what it throws as a status.
template <typename Body>
OrtStatus* Report(const OrtApi& api, const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& problem) {
    return api.CreateStatus(ORT_FAIL, TextOf(problem).c_str());
  }
}

}  // namespace pykernels::onnxruntime
