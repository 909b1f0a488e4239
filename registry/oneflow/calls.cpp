#include "calls.h"

#include "callers.h"

namespace pykernels::oneflow {
namespace {

thread_local const Callable* the_running = nullptr;

class Scope {
 public:
  explicit Scope(const Callable* callable) : before_(the_running) { the_running = callable; }
  ~Scope() { the_running = before_; }

 private:
  const Callable* before_;
};

// Returns the address that OneFlow passes to kernels for this tensor; null in a graph, and for a global tensor without
// a part on this rank.
const void* MemoryOf(const of::one::Tensor& tensor) {
  if (tensor.is_lazy()) return nullptr;
  if (tensor.is_local()) return Get(tensor.eager_blob_object()).get();
  const auto part = tensor.cur_rank_phy_tensor();
  return part.IsOk() ? Get(Get(part)->eager_blob_object()).get() : nullptr;
}

}  // namespace

Callable::Callable(const OpType& type, const Counts& counts, const std::vector<pk_attr>& attributes, bool is_train,
                   const std::string& caller)
    : type_(type),
      counts_(counts),
      is_train_(is_train),
      // Throws for an impossible number of tensors: OneFlow would end the process on some numbers.
      instance_(type.FindInstance(counts, attributes)) {
  of::one::OpBuilder builder(type.name(), type.name());
  for (size_t i = 0; i < counts.inputs.size(); ++i) {
    if (counts.inputs[i] > 0) Check(builder.MaybeInput(type.inputs()[i], counts.inputs[i]));
  }
  for (size_t i = 0; i < counts.outputs.size(); ++i) {
    if (counts.outputs[i] > 0) Check(builder.MaybeOutput(type.outputs()[i], counts.outputs[i]));
  }
  for (const pk_attr& attribute : attributes) SetAttribute(attribute, &builder);
  builder.Attr<bool>(kIsTrain, is_train);
  builder.Attr<std::string>(kCaller, caller);
  expression_ = Get(builder.Build());
}

void Callable::Run(const of::one::TensorTuple& inputs, of::one::TensorTuple* outputs) const {
  if (inputs.size() != this->inputs().size()) {
    Fail(kCallError, "op '", type_.declared().name, "' is called with ", inputs.size(), " tensors, not ",
         this->inputs().size());
  }
  // Never destroyed: OneFlow's threads may outlive static objects.
  static const auto* context = new of::one::OpExprInterpContext(of::AttrMap{});
  outputs->resize(this->outputs().size());
  const Scope scope(this);
  const NotedCall call;
  Check(of::one::OpInterpUtil::Dispatch(*expression_, inputs, outputs, *context));
  if (!outputs->empty()) call.Returned(MemoryOf(*outputs->at(0)));
}

const Callable* Callable::Running() { return the_running; }

}  // namespace pykernels::oneflow
