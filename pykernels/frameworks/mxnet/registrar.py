"""The native registrar for MXNet, compiled once for all versions and called through ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pykernels.base import abi
from pykernels.base.errors import DefinitionError, LoadError
from pykernels.build.diagnostics import without_excerpt
from pykernels.frameworks.registrar_build import compile_registrar, open_library
from pykernels.load.requests import LoadFn, reporting

#: The build id of libmxnet 1.9.1 from PyPI, which lies at the beginning of the file.
_KNOWN_BUILD = bytes.fromhex("472988f6268780302be9ee15d6c53d9a07b534f5")

#: The functions of libmxnet that the registrar calls, in the order of ``MXApi``.
_API = (
    "MXCustomOpRegister",
    "MXNDArrayGetData",
    "MXNDArrayGetShapeEx",
    "MXNDArrayGetDType",
    "MXNDArrayGetStorageType",
    "MXNDArrayFree",
    "MXShallowCopyNDArray",
    "MXEnginePushSyncND",
    "MXAutogradIsRecording",
    "NNGetOpHandle",
    "MXSymbolCreateAtomicSymbol",
    "MXSymbolFree",
    "MXGetLastError",
)

#: Symbols that libmxnet exports besides its C API, in the order of ``EngineSymbols``.
_ENGINE = (
    "_ZN4nnvm2Op10GetAttrMapERKSs",
    "_ZNK5mxnet7NDArray4dataEv",
    "_ZN5mxnet7NDArray5Chunk15Reorder2DefaultEv",
    "_ZN5mxnet6Engine3GetEv",
)

#: MXNet's functions for parallel loops, in libmxnet and its OpenMP library, in the order of ``ThreadSymbols``.
_THREADS = (
    "_ZN5mxnet6engine6OpenMP3GetEv",
    "_ZNK5mxnet6engine6OpenMP28GetRecommendedOMPThreadCountEb",
    "GOMP_parallel",
    "omp_get_thread_num",
    "omp_get_num_threads",
)

#: The name of the op that tests the engine, as in ``registry/mxnet/registrar.cpp``.
CHECKED_OP = "_pykernels_double"


def versions() -> dict[str, str]:
    """Return the versions that the registrar is compiled for: none, because it gets MXNet's functions on loading."""
    return {}


def compile_library() -> Path:
    """Compile the registrar, unless the cache has it."""
    return compile_registrar("mxnet")


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        The file of the library.
    services : abi.Services
        The functions that provide kernels.
    load : callable
        Called with the name of an op when it is first used; must `add` the op. A `PykernelsError` that it raises
        becomes the error of the code that uses the op.

    Raises
    ------
    LoadError
        This system or this MXNet lacks what the registrar needs.
    """

    def __init__(self, library: Path, services: abi.Services, load: Callable[[str], None]) -> None:
        self._library = open_library(library)
        # The registrar keeps pointers to both for the life of the process.
        self._services = services
        self._load = LoadFn(reporting(_without_excerpts(load)))
        self._next_retired = self._library.pk_mxnet_next_retired
        self._next_retired.restype = ctypes.c_int64
        with open(importlib.import_module("mxnet.base")._LIB._name, "rb") as libmxnet:
            is_known_build = _KNOWN_BUILD in libmxnet.read(4096)
        self._run("init", ctypes.byref(services), self._load, _addresses(_API), ctypes.c_int32(is_known_build))
        with contextlib.suppress(AttributeError):  # a build of MXNet that has another OpenMP library, or none
            self._run("use_threads", _addresses(_THREADS))

    def enter_engine(self) -> None:
        """Run ops inside MXNet's engine, like its own ops, instead of on the threads of its custom operators.

        Raises
        ------
        LoadError
            The registrar does not know the internals of this MXNet, or the test op fails in the engine.
        """
        try:
            symbols = _addresses(_ENGINE)
        except AttributeError as error:
            raise LoadError(f"libmxnet lacks a function that the registrar needs: {error}") from error
        self._run("enter_engine", symbols)
        try:
            check_op(CHECKED_OP)
        except Exception as error:
            self._run("leave_engine")
            raise LoadError(f"an op that is tried inside MXNet's engine goes wrong there: {error}") from error

    def register(self, name: str) -> None:
        """Register a name with MXNet; its op is loaded on first use.

        Raises
        ------
        LoadError
            MXNet rejects the name.
        """
        self._run("register", name.encode())

    def add(self, name: str, definition: int, index: int, gradient: int | None, kernel_id: int) -> None:
        """Set or replace the op of a name.

        Parameters
        ----------
        definition : int
            The address of a ``pk_definition``, which must stay valid for the life of the process.
        index : int
            The position of the op in the definition.
        gradient : int or None
            The position of its gradient in the definition.
        kernel_id : int
            The id by which `services` resolves its kernel.
        """
        self._run(
            "add",
            name.encode(),
            ctypes.c_void_p(definition),
            ctypes.c_int32(index),
            ctypes.c_int32(-1 if gradient is None else gradient),
            ctypes.c_int64(kernel_id),
        )

    def init_classes(self, functions: ctypes.Structure) -> None:
        """Set the functions behind the classes of `register_class`: ``PythonFunctions`` in ``python_operator.h``."""
        self._classes = functions
        self._run("init_classes", ctypes.byref(functions))

    def register_class(self, name: str, *, is_others: bool) -> None:
        """Register a name with MXNet as that of a class; `is_others` if other code may have registered it.

        Raises
        ------
        LoadError
            MXNet rejects the name.
        """
        self._run("register_class", name.encode(), ctypes.c_int32(is_others))

    def next_retired(self) -> int:
        """Return the number of an object that MXNet no longer needs, each number once; 0 if there is none now."""
        return int(self._next_retired())

    def remove(self, name: str) -> None:
        """Remove the op of a name, so that it is loaded again on next use."""
        self._run("remove", name.encode())

    def _run(self, function: str, *arguments: Any) -> None:
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        if self._library[f"pk_mxnet_{function}"](*arguments, error, ctypes.c_size_t(len(error))) != 0:
            raise LoadError(error.value.decode(errors="replace"))


def _without_excerpts(load: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap `load` to omit source lines from errors: MXNet takes them for a stack trace and reverses their order."""

    def load_op(name: str) -> None:
        try:
            load(name)
        except DefinitionError as error:
            raise DefinitionError(without_excerpt(str(error))) from error

    return load_op


def check_op(op_type: str) -> None:
    """Test an op that doubles float32 numbers: forward, backward, with accumulated gradients, and a second derivative.

    Raises
    ------
    AssertionError
        A number is wrong.
    """
    mx = importlib.import_module("mxnet")
    for request, expected in (("write", [2.0, 2.0]), ("add", [4.0, 4.0])):
        x = mx.nd.array([1.5, -3.0], ctx=mx.cpu(), dtype="float32")
        x.attach_grad(request)
        for _ in range(2):
            with mx.autograd.record():
                y = mx.nd.Custom(x, op_type=op_type)
            y.backward()
        found = y.asnumpy().tolist(), x.grad.asnumpy().tolist()
        if found != ([3.0, -6.0], expected):
            raise AssertionError(f"twice [1.5, -3.0] is {found[0]}, with the gradient {found[1]}, not {expected}")
    x.attach_grad()
    with mx.autograd.record():
        (dx,) = mx.autograd.grad(mx.nd.square(mx.nd.Custom(x, op_type=op_type)), [x], create_graph=True)
    dx.backward()
    found = dx.asnumpy().tolist(), x.grad.asnumpy().tolist()
    if found != ([12.0, -24.0], [8.0, 8.0]):
        raise AssertionError(f"(2 * x)**2 has the derivatives {found[0]} and {found[1]} at [1.5, -3.0]")


def _addresses(names: Sequence[str]) -> ctypes.Array[ctypes.c_void_p]:
    libmxnet = importlib.import_module("mxnet.base")._LIB
    found = (ctypes.cast(getattr(libmxnet, name), ctypes.c_void_p) for name in names)
    return (ctypes.c_void_p * len(names))(*found)
