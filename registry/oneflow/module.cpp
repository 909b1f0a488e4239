// The Python module. Ops are called through it because a ctypes call would cost more than everything else.
#include "../host/op.h"
#include "blas.h"
#include "call_object.h"
#include "callers.h"
#include "parts.h"
#include "python.h"
#include "worker.h"

namespace pykernels::oneflow {
namespace {

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
    return NewCallObject(std::move(callable), name);
  });
}

PyObject* init(PyObject* /*module*/, PyObject* arguments) {
  unsigned long long services = 0, load = 0, tensor_type = 0, new_tensor = 0;
  const char* own_folder = nullptr;
  Python python;
  if (!PyArg_ParseTuple(arguments, "KKKKO!Os", &services, &load, &tensor_type, &new_tensor, &PyList_Type,
                        &python.threads_in_kernels, &python.check, &own_folder)) {
    return nullptr;
  }
  python.tensor_type = *reinterpret_cast<PyTypeObject**>(tensor_type);
  python.new_tensor = reinterpret_cast<decltype(python.new_tensor)>(new_tensor);
  SetPython(python);
  SetOwnFolder(own_folder);
  SetServices(reinterpret_cast<const pk_services*>(services), reinterpret_cast<LoadFunction>(load));
  UseThreads();
  NoteRunsEarly();
  Py_RETURN_NONE;
}

PyObject* add(PyObject* /*module*/, PyObject* arguments) {
  return Raise([&]() -> PyObject* {
    const char* name = nullptr;
    unsigned long long address = 0;
    int index = 0, gradient = 0;
    long long kernel_id = 0;
    if (!PyArg_ParseTuple(arguments, "sKiiL", &name, &address, &index, &gradient, &kernel_id)) FailInPython();
    const auto* definition = reinterpret_cast<const pk_definition*>(address);
    const OpType& type = EnterOp(name, std::make_shared<const Op>(definition, index, gradient, kernel_id));
    return PyUnicode_FromString(type.name().c_str());
  });
}

PyObject* remove(PyObject* /*module*/, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  OpTable::Get().Remove(text);
  Py_RETURN_NONE;
}

PyObject* set_blas_threads(PyObject* /*module*/, PyObject* arguments) {
  unsigned long long get = 0, set = 0;
  if (!PyArg_ParseTuple(arguments, "KK", &get, &set)) return nullptr;
  OneBlasThread::SetBlas({reinterpret_cast<int (*)()>(get), reinterpret_cast<void (*)(int)>(set)});
  Py_RETURN_NONE;
}

PyObject* make_watcher(PyObject* /*module*/, PyObject* arguments) {
  unsigned long long report = 0;
  if (!PyArg_ParseTuple(arguments, "K", &report)) return nullptr;
  return PyLong_FromVoidPtr(MakeWatcher(reinterpret_cast<ReportTensor>(report)));
}

PyObject* take_failures(PyObject* /*module*/, PyObject* /*none*/) {
  const std::string text = TakeFailures();
  if (text.empty()) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject* is_worker(PyObject* /*module*/, PyObject* /*none*/) { return PyBool_FromLong(Worker::IsOnThisThread()); }

PyMethodDef the_methods[] = {
    {"init", init, METH_VARARGS,
     "init(services, load, tensor_type, new_tensor, threads_in_kernels, check, folder): the addresses of a "
     "pk_services, a LoadFunction, OneFlow's PyTensorObject_Type and PyTensor_New, valid as long as the process lives; "
     "check(name) is called with every call of an op while the set is not empty; no file of the folder is the user's."},
    {"add", add, METH_VARARGS,
     "add(name, definition, index, gradient, kernel_id) -> str: enter an op, or another one than the name has, and "
     "say under which name OneFlow has it."},
    {"remove", remove, METH_O, "remove(name): forget an op; it is loaded again when it is next wanted."},
    {"make_call", make_call, METH_VARARGS,
     "make_call(name, inputs, outputs, attributes, n_attributes, is_train): what calls the op, given as many tensors "
     "for each argument and the address of an array of pk_attr."},
    {"set_blas_threads", set_blas_threads, METH_VARARGS,
     "set_blas_threads(get, set): the addresses of what gives and sets the number of threads of the BLAS that kernels "
     "call, or zeros."},
    {"make_watcher", make_watcher, METH_VARARGS,
     "make_watcher(report): the address of a watcher that calls a function with tensors in graphs; see parts.h."},
    {"take_failures", take_failures, METH_NOARGS,
     "take_failures() -> str or None: what has gone wrong in kernels since this was last asked."},
    {"is_worker", is_worker, METH_NOARGS, "is_worker() -> bool: whether OneFlow waits for what runs on this thread."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef the_module = {PyModuleDef_HEAD_INIT, "oneflow_registrar", nullptr, -1, the_methods, nullptr, nullptr,
                          nullptr, nullptr};

}  // namespace
}  // namespace pykernels::oneflow

PyMODINIT_FUNC PyInit_oneflow_registrar() {
  if (!pykernels::oneflow::PrepareCallObjects()) return nullptr;
  return PyModule_Create(&pykernels::oneflow::the_module);
}
