// Passes the tensors that OneFlow 0.8 watches to a function.
#include <memory>
#include <string>

#include "../../parts.h"
#include "../../worker.h"

namespace oneflow {

// Declared here because the wheel's own header includes headers that the wheel lacks.
class ForeignWatcher {
 public:
  virtual ~ForeignWatcher() = default;
  virtual void Call(const std::string& watcher, int64_t blob) const = 0;
};

}  // namespace oneflow

namespace pykernels::oneflow {
namespace {

class Watcher final : public ::oneflow::ForeignWatcher {
 public:
  explicit Watcher(ReportTensor report) : report_(report) {}
  void Call(const std::string& watcher, int64_t blob) const override {
    const Worker worker;
    report_(watcher.c_str(), blob);
  }

 private:
  const ReportTensor report_;
};

}  // namespace

void* MakeWatcher(ReportTensor report) {
  return new std::shared_ptr<::oneflow::ForeignWatcher>(std::make_shared<Watcher>(report));
}

}  // namespace pykernels::oneflow
