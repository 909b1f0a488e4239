// The functions that Python calls to register ops in ONNX Runtime.
#include <deque>
#include <mutex>

#include "../host/error.h"
#include "../host/mutex.h"
#include "../host/op.h"
#include "node_type.h"

namespace {

using pykernels::onnxruntime::NodeType;

pykernels::Mutex the_mutex;
// All node types ever added; none is deleted, because sessions may use them.
auto& the_types = *new std::deque<NodeType>;
std::vector<const NodeType*> the_offered;

}  // namespace

// Sets the services. `services` must stay valid for the life of the process.
PK_EXPORT void pk_onnxruntime_init(const pk_services* services) { pykernels::SetServices(services, nullptr); }

// Creates a node type for op `index` of `definition`; `kernel_id` is passed to pk_services.resolve. `dtypes` holds
// `n_rows` rows, as for NodeType. Returns the type's number, or writes an error to `error` and returns -1.
PK_EXPORT int64_t pk_onnxruntime_add(const char* domain, const char* name, const pk_definition* definition,
                                     int32_t index, int64_t kernel_id, const int32_t* dtypes, int32_t n_rows,
                                     char* error, size_t size) {
  try {
    auto op = std::make_shared<const pykernels::Op>(definition, index, -1, kernel_id);
    std::lock_guard lock(the_mutex);
    the_types.emplace_back(domain, name, std::move(op), dtypes, n_rows);
    return static_cast<int64_t>(the_types.size()) - 1;
  } catch (const std::exception& problem) {
    pykernels::WriteText(problem.what(), error, size);
    return -1;
  }
}

// Sets the node types that RegisterCustomOps adds, by their numbers.
PK_EXPORT void pk_onnxruntime_offer(const int64_t* numbers, int32_t n) {
  std::lock_guard lock(the_mutex);
  the_offered.clear();
  for (int32_t i = 0; i < n; ++i) the_offered.push_back(&the_types[numbers[i]]);
}

std::vector<const NodeType*> pykernels::onnxruntime::OfferedTypes() {
  std::lock_guard lock(the_mutex);
  return the_offered;
}
