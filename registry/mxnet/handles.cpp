#include "handles.h"

namespace pykernels::mxnet {
namespace {

class Handles {
 public:
  Handles(int n, void** handles) : handles_(handles, handles + n) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  ~Handles() {
    for (NDArrayHandle handle : handles_) Api().NDArrayFree(handle);
  }

  // Returns the next `count` arrays.
  std::vector<Array> Take(size_t count) {
    std::vector<Array> arrays;
    for (size_t i = 0; i < count; ++i) arrays.push_back(Read(handles_.at(next_++)));
    return arrays;
  }

 private:
  static Array Read(NDArrayHandle handle) {
    Array array = ReadType(handle);
    // MXNet crashes when asked for the data of an array that it did not keep.
    if (array.type.dtype == PK_INVALID_DTYPE) return array;
    void* data = nullptr;
    Check(Api().NDArrayGetData(handle, &data));
    SetData(data, &array);
    return array;
  }

  std::vector<NDArrayHandle> handles_;
  size_t next_ = 0;
};

void Append(const std::vector<Array>& more, std::vector<Array>* arrays) {
  arrays->insert(arrays->end(), more.begin(), more.end());
}

}  // namespace

void ForwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train) {
  Handles arrays(n, handles);
  const size_t n_states = op.instance().n_states();
  std::vector<Array> inputs = arrays.Take(op.instance().blank_inputs().size() - n_states);
  const std::vector<Array> outputs = arrays.Take(op.instance().blank_outputs().size());
  Append(arrays.Take(n_states), &inputs);
  op.Forward(inputs, outputs, requests, is_train);
}

void BackwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train) {
  Handles arrays(n, handles);
  const size_t n_states = op.instance().n_states();
  const size_t n_arguments = op.instance().blank_inputs().size() - n_states;
  const std::vector<Array> output_gradients = arrays.Take(op.instance().blank_outputs().size());
  std::vector<Array> inputs = arrays.Take(n_arguments);
  const std::vector<Array> outputs = arrays.Take(op.instance().blank_outputs().size());
  const std::vector<Array> input_gradients = arrays.Take(n_arguments);
  Append(arrays.Take(n_states), &inputs);
  op.Backward(output_gradients, inputs, outputs, input_gradients, requests, is_train);
}

}  // namespace pykernels::mxnet
