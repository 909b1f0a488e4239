// A node of a session.
#pragma once

#include <mutex>

#include "node_types.h"

namespace popart_cpu {

// Throws the text of a status if it is an error.
void Check(const OrtApi& api, OrtStatus* status);

// Safe to use from several threads at the same time.
class Node {
 public:
  Node(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info);

  const OrtApi& api() const { return api_; }
  const Variant& variant() const { return variant_; }
  void Run(OrtKernelContext* context) const;

 private:
  std::shared_ptr<const Prepared> Find(const Infos& inputs) const;

  const OrtApi& api_;
  const Variant& variant_;
  Instance instance_;
  mutable std::mutex mutex_;
  // the newest first
  mutable std::vector<std::pair<Infos, std::shared_ptr<const Prepared>>> prepared_;
};

}  // namespace popart_cpu
