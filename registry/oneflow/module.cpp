// The Python module. Calls of ops go through it because a call by ctypes costs more than all the rest.
#include "../host/op.h"
#include "callers.h"
#include "calls.h"
#include "failures.h"
#include "graph_launch.h"
#include "threads.h"

namespace pykernels::oneflow {
namespace {

// What OneFlow's own Python module exports of its tensors.
struct PyTensorObject {
  PyObject_HEAD;
  std::shared_ptr<of::one::Tensor> data;
};
PyTypeObject* the_tensor_type = nullptr;
PyObject* (*the_new_tensor)(const std::shared_ptr<of::one::Tensor>&) = nullptr;
// While any thread runs a kernel that is Python: the set is not empty, and every call asks whether it is made in one.
PyObject* the_threads_in_kernels = nullptr;
PyObject* the_check = nullptr;

// What `body` returns; null, with a Python error set, if it throws.
template <typename Body>
PyObject* Raise(const Body& body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    // An error of Python's own is there already.
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, problem.what());
    return nullptr;
  }
}

[[noreturn]] void FailInPython() { throw Error("a Python exception"); }

// ---- calls

struct CallObject {
  PyObject_HEAD;
  vectorcallfunc vectorcall;
  std::unique_ptr<const Callable> callable;
  std::string label;
};

void RequireCpu(const of::one::Tensor& tensor, const std::string& label) {
  if (tensor.is_cuda()) {
    Fail("op '", label, "' has no kernel for the device cuda: kernels run on the CPU. Move its inputs there with .cpu()");
  }
}

void RequireNoKernel(const std::string& label) {
  if (PySet_GET_SIZE(the_threads_in_kernels) == 0) return;
  PyObject* result = PyObject_CallFunction(the_check, "s", label.c_str());
  if (!result) FailInPython();
  Py_DECREF(result);
}

PyObject* Wrap(const of::one::TensorTuple& tensors) {
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  if (!result) FailInPython();
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* tensor = the_new_tensor(tensors[i]);
    if (!tensor) {
      Py_DECREF(result);
      FailInPython();
    }
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), tensor);
  }
  return result;
}

// call(*tensors) -> tuple of tensors
PyObject* RunCall(PyObject* self, PyObject* const* arguments, size_t n, PyObject* /*names*/) {
  return Raise([&] {
    const auto& object = *reinterpret_cast<CallObject*>(self);
    RequireNoKernel(object.label);
    of::one::TensorTuple inputs;
    inputs.reserve(PyVectorcall_NARGS(n));
    for (Py_ssize_t i = 0; i < PyVectorcall_NARGS(n); ++i) {
      if (!PyObject_TypeCheck(arguments[i], the_tensor_type)) {
        Fail("op '", object.label, "' takes oneflow.Tensor, not ", Py_TYPE(arguments[i])->tp_name);
      }
      inputs.push_back(reinterpret_cast<PyTensorObject*>(arguments[i])->data);
      RequireCpu(*inputs.back(), object.label);
    }
    const int64_t caller = NoteCaller();
    const Callable& callable = *object.callable;
    if (of::LazyMode::is_enabled()) return Wrap(*callable.From(DescribeCaller(caller)).Run(inputs));
    return Wrap(*callable.Run(inputs));
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

std::vector<int32_t> ReadCounts(PyObject* counts) {
  std::vector<int32_t> numbers;
  for (Py_ssize_t i = 0; i < PyTuple_Size(counts); ++i) {
    numbers.push_back(static_cast<int32_t>(PyLong_AsLong(PyTuple_GetItem(counts, i))));
  }
  if (PyErr_Occurred()) FailInPython();
  return numbers;
}

PyObject* make_call(PyObject* /*module*/, PyObject* arguments) {
  return Raise([&]() -> PyObject* {
    const char* name = nullptr;
    PyObject *inputs = nullptr, *outputs = nullptr;
    unsigned long long attributes = 0;
    int n_attributes = 0, is_train = 0;
    if (!PyArg_ParseTuple(arguments, "sO!O!Kip", &name, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &attributes,
                          &n_attributes, &is_train)) {
      FailInPython();
    }
    const OpType& type = OpType::Find(name);
    const auto* first = reinterpret_cast<const pk_attr*>(attributes);
    auto callable = std::make_unique<const Callable>(type, Counts{ReadCounts(inputs), ReadCounts(outputs)},
                                                     std::vector<pk_attr>(first, first + n_attributes), is_train);
    auto* object = PyObject_New(CallObject, CallType());
    if (!object) FailInPython();
    object->vectorcall = RunCall;
    new (&object->callable) std::unique_ptr<const Callable>(std::move(callable));
    new (&object->label) std::string(name);
    return reinterpret_cast<PyObject*>(object);
  });
}

// ---- the table of ops

PyObject* init(PyObject* /*module*/, PyObject* arguments) {
  unsigned long long services = 0, load = 0, tensor_type = 0, new_tensor = 0;
  const char* own_folder = nullptr;
  if (!PyArg_ParseTuple(arguments, "KKKKO!Os", &services, &load, &tensor_type, &new_tensor, &PySet_Type,
                        &the_threads_in_kernels, &the_check, &own_folder)) {
    return nullptr;
  }
  Py_INCREF(the_threads_in_kernels);
  Py_INCREF(the_check);
  SetOwnFolder(own_folder);
  SetServices(reinterpret_cast<const pk_services*>(services), reinterpret_cast<LoadFunction>(load));
  the_tensor_type = *reinterpret_cast<PyTypeObject**>(tensor_type);
  the_new_tensor = reinterpret_cast<decltype(the_new_tensor)>(new_tensor);
  UseThreads();
  NoteRunsEarly();
  Py_RETURN_NONE;
}

PyObject* add(PyObject* /*module*/, PyObject* arguments) {
  return Raise([&]() -> PyObject* {
    const char* name = nullptr;
    unsigned long long address = 0;
    int index = 0, gradient = 0;
    long long number = 0;
    if (!PyArg_ParseTuple(arguments, "sKiiL", &name, &address, &index, &gradient, &number)) FailInPython();
    const auto* definition = reinterpret_cast<const pk_definition*>(address);
    if (definition->abi != PK_DEFINITION_ABI) {
      Fail("the definition of '", name, "' is built for version ", definition->abi, " of the definition ABI, not ",
           PK_DEFINITION_ABI);
    }
    const OpType& type = EnterOp(name, std::make_shared<const Op>(definition, index, gradient, number));
    return PyUnicode_FromString(type.name().c_str());
  });
}

PyObject* remove(PyObject* /*module*/, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  OpTable::Get().Remove(text);
  Py_RETURN_NONE;
}

PyObject* take_failures(PyObject* /*module*/, PyObject* /*none*/) {
  const std::string text = TakeFailures();
  if (text.empty()) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyMethodDef the_methods[] = {
    {"init", init, METH_VARARGS,
     "init(services, load, tensor_type, new_tensor, threads_in_kernels, check, folder): the addresses of a pk_services, a "
     "LoadFunction, OneFlow's PyTensorObject_Type and PyTensor_New, valid as long as the process lives; check(name) is "
     "called with every call of an op while the set is not empty; no file of the folder is the user's."},
    {"add", add, METH_VARARGS,
     "add(name, definition, index, gradient, number) -> str: enter an op, or another one than the name has, and say "
     "under which name OneFlow has it."},
    {"remove", remove, METH_O, "remove(name): forget an op; it is loaded again when it is next wanted."},
    {"make_call", make_call, METH_VARARGS,
     "make_call(name, inputs, outputs, attributes, n_attributes, is_train): what calls the op, given as many tensors for "
     "each argument and the address of an array of pk_attr."},
    {"take_failures", take_failures, METH_NOARGS,
     "take_failures() -> str or None: what has gone wrong in kernels since this was last asked."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef the_module = {PyModuleDef_HEAD_INIT, "oneflow_registrar", nullptr, -1, the_methods, nullptr, nullptr, nullptr,
                          nullptr};

}  // namespace
}  // namespace pykernels::oneflow

PyMODINIT_FUNC PyInit_oneflow_registrar() {
  if (PyType_Ready(pykernels::oneflow::CallType()) < 0) return nullptr;
  return PyModule_Create(&pykernels::oneflow::the_module);
}
