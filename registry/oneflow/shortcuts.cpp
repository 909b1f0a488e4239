#include "shortcuts.h"

#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "call_object.h"
#include "python.h"

namespace pykernels::oneflow {
namespace {

// How many parameters a function can have here.
constexpr size_t kMostParameters = 16;
// How many values of its attributes a function remembers, and how often it asks for them in vain.
constexpr size_t kMostVariants = 16;
constexpr int kMostAttempts = 16;

using Values = std::array<PyObject*, kMostParameters>;

// The values of the attributes, and the call object for them; all strong references.
struct Variant {
  std::vector<PyObject*> values;
  PyObject* call;
};

// All behind the GIL.
struct Shortcut {
  vectorcallfunc python;
  // As they were; a function that has got others is left to Python.
  PyObject* code;
  PyObject* defaults;
  std::vector<size_t> tensors;
  std::vector<size_t> attributes;
  bool is_sole;
  PyObject* learn;
  PyObject* plans = nullptr;  // of which the variants are
  std::vector<Variant> variants;
  int attempts = 0;
};

PyObject* the_space = nullptr;
PyObject* the_plans_name = nullptr;

// Nothing is ever taken out: the functions are kept.
std::unordered_map<PyObject*, Shortcut>& Shortcuts() {
  static auto* shortcuts = new std::unordered_map<PyObject*, Shortcut>;
  return *shortcuts;
}

// Whether the function is called as Python would call it, with all parameters in `values`, borrowed.
bool ReadArguments(const Shortcut& shortcut, PyObject* const* arguments, Py_ssize_t n, PyObject* keywords,
                   Values* values) {
  const auto* code = reinterpret_cast<const PyCodeObject*>(shortcut.code);
  const Py_ssize_t n_parameters = code->co_argcount;
  if (n > n_parameters) return false;
  for (Py_ssize_t i = 0; i < n_parameters; ++i) (*values)[i] = i < n ? arguments[i] : nullptr;
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
    // Names are interned, nearly all; another one is Python's to find.
    Py_ssize_t i = n_parameters - 1;
    while (i >= 0 && PyTuple_GET_ITEM(code->co_varnames, i) != PyTuple_GET_ITEM(keywords, k)) --i;
    if (i < code->co_posonlyargcount || (*values)[i]) return false;
    (*values)[i] = arguments[n + k];
  }
  const Py_ssize_t n_defaults = shortcut.defaults ? PyTuple_GET_SIZE(shortcut.defaults) : 0;
  for (Py_ssize_t i = 0; i < n_parameters; ++i) {
    if ((*values)[i]) continue;
    if (i < n_parameters - n_defaults) return false;
    (*values)[i] = PyTuple_GET_ITEM(shortcut.defaults, i - (n_parameters - n_defaults));
  }
  return true;
}

// Whether two values are the same to an op; only numbers and strings, which cannot change.
bool IsSame(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return x == y && std::signbit(x) == std::signbit(y);
  }
  return (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

bool CanBeRemembered(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value) || PyLong_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

PyObject* FindCall(const Shortcut& shortcut, const Values& values) {
  for (const Variant& variant : shortcut.variants) {
    size_t i = 0;
    while (i < variant.values.size() && IsSame(variant.values[i], values[shortcut.attributes[i]])) ++i;
    if (i == variant.values.size()) return variant.call;
  }
  return nullptr;
}

PyObject* Plans() { return PyDict_GetItemWithError(the_space, the_plans_name); }

void Forget(Shortcut* shortcut) {
  const std::vector<Variant> variants = std::move(shortcut->variants);
  shortcut->variants.clear();
  shortcut->attempts = 0;
  for (const Variant& variant : variants) {
    for (PyObject* value : variant.values) Py_DECREF(value);
    Py_DECREF(variant.call);
  }
}

// Python's code has just run with these values. Without an error, or else with that of `learn`.
bool Learn(Shortcut* shortcut, const Values& values) {
  PyObject* plans = Plans();
  if (plans != shortcut->plans) {
    Py_XINCREF(plans);
    PyObject* old = std::exchange(shortcut->plans, plans);
    Forget(shortcut);
    Py_XDECREF(old);
  }
  if (shortcut->variants.size() == kMostVariants || shortcut->attempts == kMostAttempts) return true;
  PyObject* given = PyTuple_New(static_cast<Py_ssize_t>(shortcut->attributes.size()));
  if (!given) return false;
  for (size_t i = 0; i < shortcut->attributes.size(); ++i) {
    PyObject* value = values[shortcut->attributes[i]];
    if (!CanBeRemembered(value)) {
      Py_DECREF(given);
      return true;
    }
    Py_INCREF(value);
    PyTuple_SET_ITEM(given, static_cast<Py_ssize_t>(i), value);
  }
  PyObject* call = PyObject_CallOneArg(shortcut->learn, given);
  if (!call) {
    Py_DECREF(given);
    return false;
  }
  // Another thread may have loaded ops meanwhile.
  if (Py_TYPE(call) != CallType() || Plans() != plans || shortcut->plans != plans) {
    ++shortcut->attempts;
    Py_DECREF(call);
  } else {
    Variant variant{{}, call};
    for (size_t i = 0; i < shortcut->attributes.size(); ++i) {
      variant.values.push_back(PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(i)));
      Py_INCREF(variant.values.back());
    }
    shortcut->variants.push_back(std::move(variant));
  }
  Py_DECREF(given);
  return true;
}

// In place of the function's own way to be called.
PyObject* CallShortened(PyObject* function, PyObject* const* arguments, size_t n, PyObject* keywords) {
  Shortcut& shortcut = Shortcuts().find(function)->second;
  const auto* object = reinterpret_cast<const PyFunctionObject*>(function);
  Values values;
  std::array<PyObject*, kMostParameters> tensors;
  // Who traces calls wants to see this one.
  bool is_plain = object->func_code == shortcut.code && object->func_defaults == shortcut.defaults &&
                  !PyThreadState_Get()->cframe->use_tracing &&
                  ReadArguments(shortcut, arguments, PyVectorcall_NARGS(n), keywords, &values);
  for (size_t i = 0; is_plain && i < shortcut.tensors.size(); ++i) {
    tensors[i] = values[shortcut.tensors[i]];
    is_plain = IsTensor(tensors[i]);
  }
  if (!is_plain) return shortcut.python(function, arguments, n, keywords);
  if (Plans() == shortcut.plans) {
    if (PyObject* call = FindCall(shortcut, values)) {
      Py_INCREF(call);
      PyObject* result = CallOn(call, tensors.data(), static_cast<Py_ssize_t>(shortcut.tensors.size()), shortcut.is_sole);
      Py_DECREF(call);
      return result;
    }
  }
  PyObject* result = shortcut.python(function, arguments, n, keywords);
  if (result && !Learn(&shortcut, values)) PyErr_WriteUnraisable(function);
  return result;
}

std::vector<size_t> ReadPositions(PyObject* positions, size_t end) {
  std::vector<size_t> read;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); ++i) {
    read.push_back(PyLong_AsSize_t(PyTuple_GET_ITEM(positions, i)));
    if (!PyErr_Occurred() && read.back() >= end) PyErr_SetString(PyExc_ValueError, "there is no such parameter");
    if (PyErr_Occurred()) FailInPython();
  }
  return read;
}

}  // namespace

void SetSpaceOfPlans(PyObject* space) {
  Py_INCREF(space);
  the_space = space;
  the_plans_name = PyUnicode_InternFromString("plans");
}

PyObject* Shorten(PyObject* /*module*/, PyObject* arguments) {
  return Raise([&]() -> PyObject* {
    PyObject *function = nullptr, *tensors = nullptr, *attributes = nullptr, *learn = nullptr;
    int is_list = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!O!pO", &PyFunction_Type, &function, &PyTuple_Type, &tensors, &PyTuple_Type,
                          &attributes, &is_list, &learn)) {
      FailInPython();
    }
    auto* object = reinterpret_cast<PyFunctionObject*>(function);
    const auto* code = reinterpret_cast<const PyCodeObject*>(object->func_code);
    const size_t n_parameters = static_cast<size_t>(code->co_argcount);
    const bool is_simple = code->co_kwonlyargcount == 0 && !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
    if (!is_simple || n_parameters > kMostParameters || Shortcuts().count(function)) Py_RETURN_FALSE;
    Shortcut shortcut{object->vectorcall, object->func_code, object->func_defaults,
                      ReadPositions(tensors, n_parameters), ReadPositions(attributes, n_parameters), !is_list, learn};
    if (shortcut.tensors.empty() || shortcut.tensors.size() > kMostParameters) Py_RETURN_FALSE;
    for (PyObject* kept : {function, shortcut.code, learn}) Py_INCREF(kept);
    Py_XINCREF(shortcut.defaults);
    Shortcuts().emplace(function, std::move(shortcut));
    object->vectorcall = CallShortened;
    Py_RETURN_TRUE;
  });
}

}  // namespace pykernels::oneflow
