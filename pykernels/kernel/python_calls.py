"""Call Python from compiled kernels, for the functions of NumPy and SciPy that are not compiled.

A description of an argument or a result is a tuple of plain values: ``("array", "float64", 2)``, ``("number",
"float32")``, ``("python", "int64")`` for a number of Python, ``("tuple", (...))``, and for what is known while
compiling ``("value", -1)`` or ``("dtype", "float32")``.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import itertools
import pkgutil
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from pykernels.base import fork
from pykernels.base.errors import KernelError
from pykernels.kernel.facts import PythonCall
from pykernels.kernel.read.source import KernelFunction

Description: TypeAlias = "tuple[Any, ...]"

# Addresses are numbers: to convert them to pointers takes ctypes longer.
_Callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_Drop = ctypes.CFUNCTYPE(None, ctypes.c_int64)
# The line of the last call that failed in each thread, and its error. The key is the thread's id, as in `python_form`.
_failures: dict[int, tuple[str, str]] = {}
# The callbacks of loaded kernels, by the handles of their libraries.
_callbacks: dict[int, Any] = {}
# Results in whose memory kernels work: from this number of bytes on, that is faster than a copy.
_ADOPTED = 1 << 14
_adopted: dict[int, np.ndarray] = {}
_numbers = itertools.count(1)


def attach(library: ctypes.CDLL, calls: Sequence[PythonCall]) -> None:
    """Let a loaded kernel make its calls of Python. Ops with the same kernel share the library, which stays loaded."""
    if library._handle in _callbacks:
        return
    allocate = library.pk_kernel_allocate
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_int64, ctypes.c_void_p]
    library.pk_kernel_release.argtypes = [ctypes.c_void_p]
    adopt = library.pk_kernel_adopt
    adopt.restype, adopt.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    prepared = [_Prepared(call, library) for call in calls]

    def make(number: int, arguments: int, results: int) -> int:
        thread = threading.get_ident()
        _failures.pop(thread, None)
        try:
            with fork.forbidden(), np.errstate(all="ignore"):
                prepared[number](arguments, results)
        except _OtherType:
            return 0
        except BaseException as error:
            # No exception, not even an interrupt, may pass through the kernel's frames.
            _failures[thread] = (calls[number].where, f"{type(error).__name__}: {error}")
            return 0
        return 1

    _callbacks[library._handle] = callbacks = (_Callback(make), _Drop(_adopted.__delitem__))
    library.pk_kernel_set_python(*callbacks)


def take_failure(kernel: KernelFunction, op_name: str) -> str | None:
    """Return the message for the last call of Python in this thread, if it failed, and forget it."""
    where, problem = _failures.pop(threading.get_ident(), ("", ""))
    return f"op {op_name!r}: {kernel.path.parent / where}: {kernel.name} raised {problem}" if problem else None


class _OtherType(Exception):
    """A result has another type than the kernel is compiled for; the plain NumPy run gives the kernel's results."""


class _Prepared:
    """A call whose function has been found."""

    def __init__(self, call: PythonCall, library: ctypes.CDLL) -> None:
        self._name = call.name
        self._function: Callable[..., Any] = pkgutil.resolve_name(call.function)
        self._positional, self._keywords = ast.literal_eval(call.arguments)
        self._result: Description = ast.literal_eval(call.result)
        self._library = library
        given = (*self._positional, *(each for _, each in self._keywords))
        self._arguments: Any = ctypes.c_int64 * sum(map(_words_of_argument, given))
        self._results: Any = ctypes.c_int64 * _words_of_result(self._result)

    def __call__(self, arguments: int, results: int) -> None:
        words = iter(self._arguments.from_address(arguments)[:])
        positional = [_read(each, words) for each in self._positional]
        keywords = {name: _read(each, words) for name, each in self._keywords}
        returned = self._function(*positional, **keywords)
        if describe(returned) != self._result:
            raise _OtherType
        made: list[int] = []
        try:
            places, at = self._results.from_address(results), 0
            for value in _leaves(returned):
                at = self._store(value, places, at, made)
        except BaseException:
            for block in made:
                self._library.pk_kernel_release(block)
            raise

    def _store(self, value: Any, results: Any, at: int, made: list[int]) -> int:
        """Hand a result over to the kernel, and return where the next one goes."""
        if not isinstance(value, np.ndarray):
            array = np.asarray(value)
            ctypes.memmove(ctypes.byref(results, 8 * at), array.ctypes.data, array.nbytes)
            return at + 2
        is_own = value.flags.owndata and value.flags.carray  # no view, contiguous, aligned and writeable
        block, data = self._adopt(value) if is_own and value.nbytes >= _ADOPTED else self._copy(value)
        if not block:
            raise KernelError(f"there is no memory for the result of {self._name}: {value.nbytes:,} bytes")
        made.append(block)
        end = at + 2 + value.ndim
        results[at:end] = (block, data, *value.shape)
        return end

    def _adopt(self, value: np.ndarray) -> tuple[int, int]:
        """Return a block of the memory of an array, and its address."""
        number = next(_numbers)
        _adopted[number] = value
        block = self._library.pk_kernel_adopt(value.ctypes.data, value.nbytes, number)
        if not block:
            del _adopted[number]
        return block, value.ctypes.data

    def _copy(self, value: np.ndarray) -> tuple[int, int]:
        """Return a new block with the elements of an array, and the address of the first."""
        data = ctypes.c_void_p()
        block = self._library.pk_kernel_allocate(value.nbytes, ctypes.byref(data))
        if block and value.nbytes:
            np.copyto(_array(data.value or 0, _name_of(value.dtype), value.shape), value)
        return block, data.value or 0


class _Memory:
    """Memory of a kernel, for `numpy.asarray`: of an argument, with its strides, or of a new result."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


# Kernels often pass the same memory from call to call. An array of it is as good then as a new one, which takes longer.
@functools.lru_cache(maxsize=256)
def _array(address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> np.ndarray:
    """Return an array in a kernel's memory: that of an argument, which has strides and is read-only, or of a result."""
    is_read_only = strides is not None
    interface = {"data": (address, is_read_only), "typestr": np.dtype(dtype).str, "shape": shape, "strides": strides}
    return np.asarray(_Memory({**interface, "version": 3}))


def _words_of_argument(description: Description) -> int:
    """Return the number of words that a call gets of an argument."""
    kind, content, *rest = description
    if kind == "tuple":
        return sum(map(_words_of_argument, content))
    return 0 if kind in ("value", "dtype") else 1 + 2 * rest[0] if kind == "array" else 1


def _words_of_result(description: Description) -> int:
    """Return the number of words of a result."""
    kind, content, *rest = description
    return sum(map(_words_of_result, content)) if kind == "tuple" else 2 + (rest[0] if kind == "array" else 0)


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
