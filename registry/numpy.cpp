// Calls ops on NumPy's arrays. A call object remembers what Python has prepared for arrays of a shape and dtype. For
// such arrays it makes the outputs and runs the kernel, without Python code in between.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <pykernels/kernel.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace pykernels::numpy {
namespace {

// More shapes than a program has in use at a time; the oldest makes room.
constexpr size_t kMostPrepared = 64;

PyArrayObject* AsArray(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

// The dtype and shape of an array in C order.
class ArrayType {
 public:
  explicit ArrayType(PyArrayObject* array)
      : type_(PyArray_TYPE(array)), dims_(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array)) {}

  const std::vector<npy_intp>& dims() const { return dims_; }

  // Whether an object is an array of this dtype and shape, in any layout.
  bool Describes(PyObject* object) const {
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject* array = AsArray(object);
    return PyArray_TYPE(array) == type_ && PyArray_NDIM(array) == Ndim() &&
           PyArray_CompareLists(PyArray_DIMS(array), dims_.data(), PyArray_NDIM(array));
  }

  static bool IsPlain(PyArrayObject* array) {
    const int type = PyArray_TYPE(array);
    return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
           (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type));
  }

  PyObject* New() const { return NewOf(type_); }

  // Returns a mask of this shape from what broadcasts to it; null, perhaps with an error set, if that is no mask.
  PyObject* NewMask(PyObject* where) const {
    PyObject* given = PyArray_FROM_O(where);
    if (!given) return nullptr;
    const bool is_mask = PyArray_ISBOOL(AsArray(given)) && PyArray_NDIM(AsArray(given)) <= Ndim();
    PyObject* mask = is_mask ? NewOf(NPY_BOOL) : nullptr;
    if (mask && PyArray_CopyInto(AsArray(mask), AsArray(given)) < 0) Py_CLEAR(mask);
    Py_DECREF(given);
    return mask;
  }

 private:
  int Ndim() const { return static_cast<int>(dims_.size()); }

  PyObject* NewOf(int type) const {
    return PyArray_SimpleNew(Ndim(), const_cast<npy_intp*>(dims_.data()), type);
  }

  int type_;
  std::vector<npy_intp> dims_;
};

// A reference that Python's lock protects.
class Reference {
 public:
  explicit Reference(PyObject* object) : object_(object) { Py_INCREF(object); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { Py_DECREF(object_); }

  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

// What calls with arrays of the same types share.
struct Prepared {
  std::vector<ArrayType> inputs;
  std::vector<ArrayType> outputs;
  std::vector<int64_t> dims;  // of the inputs, then of the outputs
  int64_t elements;  // the end of the range to compute, which begins at 0
  const pk_kernel* kernel;
  const pk_scalar* scalars;
  Reference owner;  // keeps the kernel and the scalars
};

struct CallObject {
  PyObject_HEAD;
  vectorcallfunc vectorcall;
  PyObject* general;
  PyObject* explain;
  Py_ssize_t first_state;  // the first of the inputs that the op changes; they are the last ones
  std::vector<std::shared_ptr<const Prepared>> prepared;
};

CallObject& Of(PyObject* self) { return *reinterpret_cast<CallObject*>(self); }

bool Fits(const Prepared& prepared, PyObject* const* arrays, Py_ssize_t n, Py_ssize_t first_state) {
  if (static_cast<size_t>(n) != prepared.inputs.size()) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!prepared.inputs[static_cast<size_t>(i)].Describes(arrays[i])) return false;
    PyArrayObject* array = AsArray(arrays[i]);
    if (!ArrayType::IsPlain(array) || (i >= first_state && !PyArray_ISWRITEABLE(array))) return false;
  }
  return true;
}

bool Overlap(PyObject* object, PyObject* other) {
  PyArrayObject *a = AsArray(object), *b = AsArray(other);
  return PyArray_BYTES(a) < PyArray_BYTES(b) + PyArray_NBYTES(b) &&
         PyArray_BYTES(b) < PyArray_BYTES(a) + PyArray_NBYTES(a);
}

// The keywords of a call.
struct Keywords {
  PyObject* out = nullptr;    // an array, or a tuple with an array or None for each output; null: all are to be new
  PyObject* where = nullptr;  // which elements to write; null: all

  // Returns the array for an output, or null.
  PyObject* Given(size_t output) const {
    PyObject* array = out && PyTuple_Check(out) ? PyTuple_GET_ITEM(out, static_cast<Py_ssize_t>(output)) : out;
    return array == Py_None ? nullptr : array;
  }

  // Returns false if there are others.
  bool Read(PyObject* names, PyObject* const* values) {
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        out = values[i] == Py_None ? nullptr : values[i];
      } else if (PyUnicode_CompareWithASCIIString(name, "where") == 0) {
        where = values[i] == Py_True ? nullptr : values[i];
      } else {
        return false;
      }
    }
    return true;
  }

  // Whether results can go into the arrays of `out`, and only where `where` says.
  bool Fit(const Prepared& prepared) const {
    const size_t n = prepared.outputs.size();
    if (out && static_cast<size_t>(PyTuple_Check(out) ? PyTuple_GET_SIZE(out) : 1) != n) return false;
    for (size_t i = 0; i < n; ++i) {
      const ArrayType& type = prepared.outputs[i];
      if (where && type.dims() != prepared.outputs.front().dims()) return false;
      PyObject* array = Given(i);
      if (array && !(type.Describes(array) && PyArray_ISWRITEABLE(AsArray(array)))) return false;
    }
    return !where || (n > 0 && prepared.kernel->flags & PK_KERNEL_ELEMENTWISE);
  }
};

// Whether the kernel can write an output into `array`, next to the inputs and the outputs before it.
bool CanWriteInto(PyObject* array, const Prepared& prepared, PyObject* const* inputs, PyObject* outputs, size_t i) {
  if (!ArrayType::IsPlain(AsArray(array))) return false;
  for (size_t input = 0; input < prepared.inputs.size(); ++input) {
    if (Overlap(array, inputs[input])) return false;
  }
  for (size_t other = 0; other < i; ++other) {
    if (Overlap(array, PyTuple_GET_ITEM(outputs, static_cast<Py_ssize_t>(other)))) return false;
  }
  return true;
}

// Returns a tuple of what the kernel writes into, arrays that are given and new ones; null, with an error set, if the
// memory is full.
PyObject* MakeOutputs(const Prepared& prepared, PyObject* const* inputs, const Keywords& keywords) {
  PyObject* outputs = PyTuple_New(static_cast<Py_ssize_t>(prepared.outputs.size()));
  if (!outputs) return nullptr;
  for (size_t i = 0; i < prepared.outputs.size(); ++i) {
    PyObject* given = keywords.where ? nullptr : keywords.Given(i);
    const bool is_direct = given && CanWriteInto(given, prepared, inputs, outputs, i);
    PyObject* output = is_direct ? Py_NewRef(given) : prepared.outputs[i].New();
    if (!output) {
      Py_DECREF(outputs);
      return nullptr;
    }
    PyTuple_SET_ITEM(outputs, static_cast<Py_ssize_t>(i), output);
  }
  return outputs;
}

// Copies results into the arrays that are given, where the mask is true, and puts those into the tuple; returns false
// with an error set if that fails.
bool Deliver(PyObject* outputs, const Keywords& keywords, PyObject* mask) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject *given = keywords.Given(static_cast<size_t>(i)), *computed = PyTuple_GET_ITEM(outputs, i);
    if (!given || given == computed) continue;
    if (mask) {
      PyObject* none = PyArray_PutMask(AsArray(given), computed, mask);
      if (!none) return false;
      Py_DECREF(none);
    } else if (PyArray_CopyInto(AsArray(given), AsArray(computed)) < 0) {
      return false;
    }
    PyTuple_SetItem(outputs, i, Py_NewRef(given));
  }
  return true;
}

void* Data(PyObject* array) { return PyArray_DATA(AsArray(array)); }

// Runs a kernel; returns false with a Python error set if it fails.
bool Run(const Prepared& prepared, PyObject* const* inputs, PyObject* outputs, PyObject* explain) {
  std::vector<void*> data;
  data.reserve(prepared.inputs.size() + prepared.outputs.size() + 1);
  for (size_t i = 0; i < prepared.inputs.size(); ++i) data.push_back(Data(inputs[i]));
  for (size_t i = 0; i < prepared.outputs.size(); ++i) data.push_back(Data(PyTuple_GET_ITEM(outputs, i)));
  int64_t detail[PK_DETAIL_SIZE] = {};
  const int64_t* dims = prepared.dims.data();
  int32_t status = PK_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = prepared.kernel->run(prepared.kernel, data.data(), dims, prepared.scalars, 0, prepared.elements, detail);
  Py_END_ALLOW_THREADS;
  if (status == PK_OK) return true;
  PyObject* told = PyObject_CallFunction(explain, "OiKKK", prepared.owner.get(), status,
                                         reinterpret_cast<unsigned long long>(data.data()),
                                         reinterpret_cast<unsigned long long>(dims),
                                         reinterpret_cast<unsigned long long>(detail));
  Py_XDECREF(told);
  return told;
}

PyObject* CallVector(PyObject* self, PyObject* const* arrays, size_t n_and_flag, PyObject* names) {
  const CallObject& call = Of(self);
  const Py_ssize_t n = PyVectorcall_NARGS(n_and_flag);
  const Py_ssize_t n_named = names ? PyTuple_GET_SIZE(names) : 0;
  Keywords keywords;
  const bool is_known = keywords.Read(names, arrays + n);
  for (const auto& each : call.prepared) {
    if (!is_known) break;
    if (!Fits(*each, arrays, n, call.first_state)) continue;
    if (!keywords.Fit(*each)) break;
    const std::shared_ptr<const Prepared> prepared = each;  // other threads, or a mask, may forget it meanwhile
    PyObject* mask = keywords.where ? prepared->outputs.front().NewMask(keywords.where) : nullptr;
    PyObject* outputs = keywords.where && !mask ? nullptr : MakeOutputs(*prepared, arrays, keywords);
    if (!outputs) {
      Py_XDECREF(mask);
      PyErr_Clear();
      break;  // the general way says what does not fit
    }
    if (!Run(*prepared, arrays, outputs, call.explain) || !Deliver(outputs, keywords, mask)) Py_CLEAR(outputs);
    Py_XDECREF(mask);
    return outputs;
  }
  std::vector<PyObject*> arguments{self};
  arguments.insert(arguments.end(), arrays, arrays + n + n_named);
  return PyObject_Vectorcall(call.general, arguments.data(), static_cast<size_t>(n + 1), names);
}

// Returns the types of arrays in a tuple, and appends their dimensions to `dims`; false if not all are plain arrays.
bool ReadTypes(PyObject* arrays, std::vector<ArrayType>* types, std::vector<int64_t>* dims) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); ++i) {
    PyObject* object = PyTuple_GET_ITEM(arrays, i);
    if (!PyArray_CheckExact(object)) return false;
    if (!ArrayType::IsPlain(AsArray(object))) return false;
    types->emplace_back(AsArray(object));
    dims->insert(dims->end(), types->back().dims().begin(), types->back().dims().end());
  }
  return true;
}

PyObject* remember(PyObject* self, PyObject* arguments) {
  PyObject *inputs = nullptr, *outputs = nullptr, *owner = nullptr;
  unsigned long long kernel = 0, scalars = 0;
  long long elements = 0;
  if (!PyArg_ParseTuple(arguments, "O!O!KKLO", &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &kernel, &scalars,
                        &elements, &owner)) {
    return nullptr;
  }
  std::vector<ArrayType> input_types, output_types;
  std::vector<int64_t> dims;
  if (ReadTypes(inputs, &input_types, &dims) && ReadTypes(outputs, &output_types, &dims)) {
    auto& prepared = Of(self).prepared;
    // What is forgotten may run Python code, which may call this object, so it goes last.
    std::shared_ptr<const Prepared> forgotten;
    if (prepared.size() == kMostPrepared) {
      forgotten = prepared.front();
      prepared.erase(prepared.begin());
    }
    prepared.emplace_back(new Prepared{std::move(input_types), std::move(output_types), std::move(dims), elements,
                                       reinterpret_cast<const pk_kernel*>(kernel),
                                       reinterpret_cast<const pk_scalar*>(scalars), Reference(owner)});
  }
  Py_RETURN_NONE;
}

void DeleteCall(PyObject* self) {
  CallObject& call = Of(self);
  call.prepared.~vector();
  Py_DECREF(call.general);
  Py_DECREF(call.explain);
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef call_methods[] = {
    {"remember", remember, METH_VARARGS,
     "remember(inputs, outputs, kernel, scalars, elements, owner): when arrays like these are given, run the pk_kernel "
     "with the array of pk_scalar, which `owner` keeps, up to that element, and return arrays like these outputs."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* CallType() {
  static PyTypeObject type = [] {
    PyTypeObject made{PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "numpy_registrar.Call";
    made.tp_basicsize = sizeof(CallObject);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
    made.tp_vectorcall_offset = offsetof(CallObject, vectorcall);
    made.tp_call = PyVectorcall_Call;
    made.tp_methods = call_methods;
    made.tp_dealloc = DeleteCall;
    return made;
  }();
  return &type;
}

PyObject* make_call(PyObject* /*module*/, PyObject* arguments) {
  PyObject *general = nullptr, *explain = nullptr;
  Py_ssize_t first_state = 0;
  if (!PyArg_ParseTuple(arguments, "OOn", &general, &explain, &first_state)) return nullptr;
  auto* call = PyObject_New(CallObject, CallType());
  if (!call) return nullptr;
  call->vectorcall = CallVector;
  call->general = Py_NewRef(general);
  call->explain = Py_NewRef(explain);
  call->first_state = first_state;
  new (&call->prepared) decltype(call->prepared);
  return reinterpret_cast<PyObject*>(call);
}

PyMethodDef the_methods[] = {
    {"make_call", make_call, METH_VARARGS,
     "make_call(general, explain, first_state): what calls an op on arrays. ``out=`` and ``where=`` are those of "
     "NumPy's ufuncs. For arrays that it does not remember, and keywords that do not fit these as they are, it returns "
     "general(call, *arrays, **keywords). If a kernel fails it calls explain(owner, status, data, dims, detail), which "
     "may raise, with the addresses of the arguments of the kernel. From the input `first_state` on the op changes "
     "them."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef the_module = {PyModuleDef_HEAD_INIT, "numpy_registrar", nullptr, -1, the_methods, nullptr, nullptr,
                          nullptr, nullptr};

}  // namespace
}  // namespace pykernels::numpy

PyMODINIT_FUNC PyInit_numpy_registrar() {
  import_array();
  if (PyType_Ready(pykernels::numpy::CallType()) < 0) return nullptr;
  return PyModule_Create(&pykernels::numpy::the_module);
}
