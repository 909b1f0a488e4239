"""The native registrar for MXNet: built once for all versions, and called through ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pykernels.base import abi, paths
from pykernels.base.errors import DefinitionError, LoadError
from pykernels.build import cache, toolchain
from pykernels.build.diagnostics import without_excerpt
from pykernels.frameworks.registrar_host import OLD_STRINGS, OPTIMIZED, build_host, host_parts
from pykernels.frameworks.registrar_libraries import find_library, open_library
from pykernels.load.requests import LoadFn, reporting

__all__ = ["Registrar", "build", "versions"]

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
    "MXGetLastError",
)

#: What libmxnet exports beside its C API, in the order of ``EngineSymbols``.
_ENGINE = (
    "NNGetOpHandle",
    "_ZN4nnvm2Op10GetAttrMapERKSs",
    "_ZNK5mxnet7NDArray4dataEv",
    "_ZN5mxnet7NDArray5Chunk15Reorder2DefaultEv",
    "_ZN5mxnet6Engine3GetEv",
)

#: MXNet's threads for loops, in libmxnet and the OpenMP library behind it, in the order of ``ThreadSymbols``.
_THREADS = (
    "_ZN5mxnet6engine6OpenMP3GetEv",
    "_ZNK5mxnet6engine6OpenMP28GetRecommendedOMPThreadCountEb",
    "GOMP_parallel",
    "omp_get_thread_num",
    "omp_get_num_threads",
)

#: The name of the op that the engine is tried with.
CHECKED_OP = "_pykernels_double"


def versions() -> dict[str, str]:
    """What the registrar is made for: any MXNet, whose functions it gets when it is loaded."""
    return {}


def build() -> Path:
    """The registrar: from a package of ops that carries it, or compiled, unless the cache has it.

    Raises
    ------
    BuildError
        There is no compiler, or it fails.
    CacheError
        The cache cannot be written.
    """
    return find_library("mxnet", versions(), _compile)


def _compile() -> Path:
    parts = sorted((paths.REGISTRY / "mxnet").glob("*.cpp"))
    return toolchain.build_shared(
        "mxnet_registrar",
        [paths.REGISTRY / "mxnet.cpp"],
        kind="registrars",
        flags=(*OPTIMIZED, OLD_STRINGS),
        include=(paths.CPP_DEFS / "include", paths.REGISTRY),
        objects=[lambda: build_host(OLD_STRINGS)],
        key=(host_parts(), cache.digest(parts)),
    )


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        What `build` gives.
    services : abi.Services
        Where kernels come from.
    load : callable
        Called with the name of an op when it is first wanted; has to `add` it. A `PykernelsError` that it raises
        becomes the error of whoever wanted the op.

    Raises
    ------
    LoadError
        This system or this MXNet lacks what the registrar needs.
    """

    def __init__(self, library: Path, services: abi.Services, load: Callable[[str], None]) -> None:
        self._library = open_library(library)
        # The registrar keeps pointers to both for as long as the process lives.
        self._services = services
        self._load = LoadFn(reporting(_without_excerpts(load)))
        self._next_retired = self._library.pk_mxnet_next_retired
        self._next_retired.restype = ctypes.c_int64
        self._run("init", ctypes.byref(services), self._load, _addresses(_API))
        with contextlib.suppress(AttributeError):  # a build of MXNet that has another OpenMP library, or none
            self._run("use_threads", _addresses(_THREADS))

    def enter_engine(self) -> None:
        """Run ops inside MXNet's engine, as its own ops run, rather than on the threads of its custom operators.

        Raises
        ------
        LoadError
            This is not the MXNet whose inside the registrar knows, or an op that is tried there goes wrong.
        """
        try:
            symbols = _addresses(_ENGINE)
        except AttributeError as error:
            raise LoadError(f"libmxnet lacks a function that the registrar needs: {error}") from error
        self._run("add_checked_op", CHECKED_OP.encode())
        self._run("enter_engine", symbols)
        try:
            check_op(CHECKED_OP)
        except Exception as error:
            self._run("leave_engine")
            raise LoadError(f"an op that is tried inside MXNet's engine goes wrong there: {error}") from error

    def register(self, name: str) -> None:
        """Make a name known to MXNet; its op is loaded when it is first wanted.

        Raises
        ------
        LoadError
            MXNet refuses the name.
        """
        self._run("register", name.encode())

    def add(self, name: str, definition: int, index: int, gradient: int | None, number: int) -> None:
        """Give a name its op, or another one than it has.

        Parameters
        ----------
        definition : int
            The address of a ``pk_definition``, which must stay valid as long as the process lives.
        index : int
            Which op of the definition it is.
        gradient : int or None
            Which gradient of the definition is its own.
        number : int
            The number under which `services` resolves its kernels.
        """
        self._run(
            "add",
            name.encode(),
            ctypes.c_void_p(definition),
            ctypes.c_int32(index),
            ctypes.c_int32(-1 if gradient is None else gradient),
            ctypes.c_int64(number),
        )

    def init_classes(self, functions: ctypes.Structure) -> None:
        """Say how the classes of `register_class` answer; see ``PythonFunctions`` in ``python_operator.h``."""
        self._classes = functions
        self._run("init_classes", ctypes.byref(functions))

    def register_class(self, name: str, *, is_others: bool) -> None:
        """Make a name known to MXNet as that of a class; `is_others` if somebody else may have registered it.

        Raises
        ------
        LoadError
            MXNet refuses the name.
        """
        self._run("register_class", name.encode(), ctypes.c_int32(is_others))

    def next_retired(self) -> int:
        """The number of something of a class that MXNet needs no more, each once; 0 if there is none now."""
        return int(self._next_retired())

    def remove(self, name: str) -> None:
        """Take the op of a name away, so that it is loaded again when it is next wanted."""
        self._run("remove", name.encode())

    def _run(self, function: str, *arguments: Any) -> None:
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        if self._library[f"pk_mxnet_{function}"](*arguments, error, ctypes.c_size_t(len(error))) != 0:
            raise LoadError(error.value.decode(errors="replace"))


def _without_excerpts(load: Callable[[str], None]) -> Callable[[str], None]:
    """`load`, whose errors show no lines of a source: MXNet takes those for a stack trace, and turns them round."""

    def load_op(name: str) -> None:
        try:
            load(name)
        except DefinitionError as error:
            raise DefinitionError(without_excerpt(str(error))) from error

    return load_op


def check_op(op_type: str) -> None:
    """Try an op that doubles float32 numbers: forward, backward, and with gradients that add up.

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


def _addresses(names: Sequence[str]) -> ctypes.Array[ctypes.c_void_p]:
    libmxnet = importlib.import_module("mxnet.base")._LIB
    found = (ctypes.cast(getattr(libmxnet, name), ctypes.c_void_p) for name in names)
    return (ctypes.c_void_p * len(names))(*found)
