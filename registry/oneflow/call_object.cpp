#include "call_object.h"

#include "callers.h"
#include "python.h"

namespace pykernels::oneflow {
namespace {

// The layout of tensors in OneFlow's own Python module.
struct PyTensorObject {
  PyObject_HEAD;
  std::shared_ptr<of::one::Tensor> data;
};

struct CallObject {
  PyObject_HEAD;
  vectorcallfunc vectorcall;
  std::unique_ptr<const Callable> callable;
  std::string label;
};

Python the_python;

void RequireCpu(const of::one::Tensor& tensor, const std::string& label) {
  if (tensor.is_cuda()) {
    Fail(kCallError, "op '", label,
         "' has no kernel for the device cuda: kernels run on the CPU. Move its inputs there with .cpu()");
  }
}

void RequireNoKernel(const std::string& label) {
  if (PyList_GET_SIZE(the_python.threads_in_kernels) == 0) return;
  PyObject* result = PyObject_CallFunction(the_python.check, "s", label.c_str());
  if (!result) FailInPython();
  Py_DECREF(result);
}

PyObject* WrapAll(const of::one::TensorTuple& tensors) {
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  if (!result) FailInPython();
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* tensor = the_python.new_tensor(tensors[i]);
    if (!tensor) {
      Py_DECREF(result);
      FailInPython();
    }
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), tensor);
  }
  return result;
}

PyObject* CallVector(PyObject* self, PyObject* const* tensors, size_t n_and_flag, PyObject* /*names*/) {
  return Raise([&] {
    const auto& call = *reinterpret_cast<const CallObject*>(self);
    const Py_ssize_t n = PyVectorcall_NARGS(n_and_flag);
    RequireNoKernel(call.label);
    of::one::TensorTuple inputs(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!PyObject_TypeCheck(tensors[i], the_python.tensor_type)) {
        Fail(kCallError, "op '", call.label, "' takes oneflow.Tensor, not ", Py_TYPE(tensors[i])->tp_name);
      }
      inputs[i] = reinterpret_cast<PyTensorObject*>(tensors[i])->data;
      RequireCpu(*inputs[i], call.label);
    }
    const int64_t caller = NoteCaller();
    of::one::TensorTuple outputs;
    if (of::LazyMode::is_enabled()) {
      call.callable->From(DescribeCaller(caller)).Run(inputs, &outputs);
    } else {
      call.callable->Run(inputs, &outputs);
    }
    return WrapAll(outputs);
  });
}

void DeleteCall(PyObject* self) {
  auto* object = reinterpret_cast<CallObject*>(self);
  object->callable.~unique_ptr();
  object->label.~basic_string();
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject* CallType() {
  static PyTypeObject type = [] {
    PyTypeObject made{PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "oneflow_registrar.Call";
    made.tp_basicsize = sizeof(CallObject);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
    made.tp_vectorcall_offset = offsetof(CallObject, vectorcall);
    made.tp_call = PyVectorcall_Call;
    made.tp_dealloc = DeleteCall;
    return made;
  }();
  return &type;
}

}  // namespace

void SetPython(const Python& python) {
  the_python = python;
  Py_INCREF(python.threads_in_kernels);
  Py_INCREF(python.check);
}

bool PrepareCallObjects() { return PyType_Ready(CallType()) == 0; }

PyObject* NewCallObject(std::unique_ptr<const Callable> callable, const char* label) {
  auto* object = PyObject_New(CallObject, CallType());
  if (!object) FailInPython();
  object->vectorcall = CallVector;
  new (&object->callable) std::unique_ptr<const Callable>(std::move(callable));
  new (&object->label) std::string(label);
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace pykernels::oneflow
