"""Call Python from compiled kernels, for functions that are not compiled: NumPy's, SciPy's and the user's helpers.

A description of an argument or a result is a tuple of plain values: ``("array", "float64", 2)``, ``("number",
"float32")``, ``("python", "int64")`` for a number of Python, ``("tuple", (...))``, and for what is known while
compiling ``("value", -1)`` or ``("dtype", "float32")``.
"""

from __future__ import annotations

import ast
import contextvars
import ctypes
import functools
import itertools
import pkgutil
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pykernels.base import fork
from pykernels.kernel.facts import PythonCall
from pykernels.kernel.read.source import KernelFunction

Description: TypeAlias = "tuple[Any, ...]"
_Maker: TypeAlias = "Callable[[bytes], tuple[np.ndarray, ...] | None]"

# The members of ``pk_python`` (cpp_defs/runtime/python_calls.cpp).
_FUNCTIONS = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyBytes_FromStringAndSize"),
    *("PyObject_CallFunctionObjArgs", "PyTuple_GetItem", "Py_IncRef", "Py_DecRef", "PyErr_Clear"),
)
# The line of the last call that failed in each thread, and its error. The key is the thread's id, as in `python_form`.
_failures: dict[int, tuple[str, str]] = {}
# The functions that make the calls of loaded kernels, by the handles of their libraries.
_makers: dict[int, tuple[_Maker, ...]] = {}
# Results in whose memory kernels work: from this number of bytes on, that is faster than a copy.
_ADOPTED = 1 << 14


def paths_of(helpers: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return the helpers of a kernel by their paths, which are the same in each copy of its folder."""
    found: dict[str, Callable[..., Any]] = {}
    ambiguous = set()
    for helper in helpers:
        path = f"{Path(helper.__code__.co_filename).name}:{helper.__qualname__}"
        if found.setdefault(path, helper) is not helper:
            ambiguous.add(path)
    return {path: helper for path, helper in found.items() if path not in ambiguous}


def find(path: str, helpers: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function at a path: one of the helpers, or one of NumPy or SciPy."""
    return helpers[path] if path in helpers else pkgutil.resolve_name(path)


def attach(library: ctypes.CDLL, calls: Sequence[PythonCall], helpers: Sequence[Callable[..., Any]]) -> None:
    """Let a loaded kernel make its calls of Python. Ops with the same kernel share the library, which stays loaded."""
    if library._handle in _makers:
        return
    by_path = paths_of(helpers)
    makers = _makers[library._handle] = tuple(_maker(call, find(call.function, by_path)) for call in calls)
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    table = (ctypes.c_void_p * len(functions))(*functions)
    library.pk_kernel_set_python(table, ctypes.py_object(makers), ctypes.py_object(None), ctypes.c_int64(_ADOPTED))


def take_failure(kernel: KernelFunction, op_name: str) -> str | None:
    """Return the message for the last call of Python in this thread, if it failed, and forget it."""
    where, problem = _failures.pop(threading.get_ident(), ("", ""))
    return f"op {op_name!r}: {kernel.path.parent / where}: {kernel.name} raised {problem}" if problem else None


def _maker(call: PythonCall, function: Callable[..., Any]) -> _Maker:
    """Return a function that makes a call, of the words of its arguments.

    It returns the results as arrays that the kernel can read, or have if they are large, and None if the call failed.
    """
    bind = _binding(function, *ast.literal_eval(call.arguments))
    expected: Description = ast.literal_eval(call.result)
    ignore_errors, restore_errors = _settings_of_errors()
    forbidden = fork.forbidden()

    def make(arguments: bytes) -> tuple[np.ndarray, ...] | None:
        if _failures:
            _failures.pop(threading.get_ident(), None)
        before = ignore_errors()
        try:
            with forbidden:
                returned = bind(arguments)()
            if describe(returned) == expected:
                if type(returned) is np.ndarray:
                    return (_in_memory(returned),)
                return tuple(map(_in_memory, _leaves(returned)))
            # Otherwise, the plain NumPy run gives the kernel's results.
        except BaseException as error:
            # No exception, not even an interrupt, may pass through the kernel's frames.
            _failures[threading.get_ident()] = (call.where, f"{type(error).__name__}: {error}")
        finally:
            restore_errors(before)
        return None

    return make


def _binding(
    function: Callable[..., Any], positional: Sequence[Description], keywords: Sequence[tuple[str, Description]]
) -> Callable[[bytes], Callable[[], Any]]:
    """Return a function that binds a function to its arguments, of which it gets the words."""
    given = (*positional, *(each for _, each in keywords))
    packed = struct.Struct(f"{sum(map(_words_of_argument, given))}q")
    # Arguments are plain arrays, so there is nothing that NumPy could dispatch on.
    function = getattr(function, "_implementation", function)

    def bind(arguments: bytes) -> Callable[[], Any]:
        words = iter(packed.unpack(arguments))
        values = [_read(each, words) for each in positional]
        return functools.partial(function, *values, **{name: _read(each, words) for name, each in keywords})

    # Kernels often pass the same memory from call to call. Arrays of it are as good then as new ones.
    return bind if any(map(_has_number, given)) else functools.lru_cache(maxsize=256)(bind)


def _settings_of_errors() -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """Return what `numpy.errstate` does to ignore errors of numbers, as compiled code does, and to undo that.

    `errstate` itself takes several times as long, and longer than many functions.
    """
    if hasattr(np, "seterrobj"):  # NumPy before 2

        def ignore() -> Any:
            size, _, handler = settings = np.geterrobj()
            np.seterrobj([size, 0, handler])
            return settings

        return ignore, np.seterrobj
    before = contextvars.copy_context()
    with np.errstate(all="ignore"):
        now = contextvars.copy_context()
    [(variable, ignoring)] = [(each, value) for each, value in now.items() if before.get(each) is not value]
    return functools.partial(variable.set, ignoring), variable.reset


def _in_memory(value: Any) -> np.ndarray:
    array = np.asarray(value)
    flags, dtype = array.flags, array.dtype
    is_plain = flags.carray and dtype.isnative  # contiguous, aligned and writeable
    if is_plain and (flags.owndata or array.nbytes < _ADOPTED):
        return array
    return np.array(array, dtype.newbyteorder("="), order="C")


class _Memory:
    """Memory of a kernel, for `numpy.asarray`."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _array(address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Return the array of an argument, which is read-only."""
    interface = {"data": (address, True), "typestr": np.dtype(dtype).str, "shape": shape, "strides": strides}
    return np.asarray(_Memory({**interface, "version": 3}))


def _words_of_argument(description: Description) -> int:
    """Return the number of words that a call gets of an argument."""
    kind, content, *rest = description
    if kind == "tuple":
        return sum(map(_words_of_argument, content))
    return 0 if kind in ("value", "dtype") else 1 + 2 * rest[0] if kind == "array" else 1


def _has_number(description: Description) -> bool:
    """Whether an argument has a number, of which a call gets the address."""
    kind, content, *_ = description
    return any(map(_has_number, content)) if kind == "tuple" else kind in ("number", "python")


def _read(description: Description, words: Iterator[int]) -> Any:
    kind, content, *rest = description
    if kind == "value":
        return content
    if kind == "dtype":
        return np.dtype(content)
    if kind == "tuple":
        return tuple(_read(each, words) for each in content)
    ndim = rest[0] if kind == "array" else 0
    address = next(words)
    shape, strides = tuple(itertools.islice(words, ndim)), tuple(itertools.islice(words, ndim))
    array = _array(address, content, shape, strides)
    return array if kind == "array" else array.item() if kind == "python" else array[()]


@functools.cache
def _name_of(dtype: np.dtype) -> str:
    return dtype.name


def describe(value: Any) -> Description:
    """Return the description of a result."""
    if type(value) is np.ndarray:
        return ("array", _name_of(value.dtype), value.ndim)
    if isinstance(value, (np.generic, bool)):
        return ("number", _name_of(np.asarray(value).dtype))
    if isinstance(value, (tuple, list)):
        return ("tuple", tuple(map(describe, value)))
    return ("other", "None" if value is None else f"a {type(value).__name__}")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value
