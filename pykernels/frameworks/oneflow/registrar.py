"""The native registrar for OneFlow: a Python extension module that is compiled once for the installed OneFlow."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pykernels.base import abi, paths
from pykernels.base.errors import BuildError, LoadError
from pykernels.define.definition import OpDef
from pykernels.frameworks.installed import find_package
from pykernels.frameworks.registrar_build import compile_registrar, import_library, python_headers
from pykernels.kernel import blas
from pykernels.load.requests import LoadFn, reporting

#: The versions whose internals the registrar supports, each with a folder in the registry.
_VERSIONS = ("0.8", "0.9")
_NAME = "oneflow_registrar"
#: The libraries beside the wheel that the registrar calls; their file names contain a digest.
_LIBRARIES = ("liboneflow-*.so", "libof_protoobj-*.so", "libprotobuf-*.so*")
#: Where OneFlow looks for it.
_WATCHER = "_ZZN7oneflow9SingletonISt10shared_ptrINS_14ForeignWatcherEEvE7GetPPtrEvE3ptr"
_FLAGS = (
    # OneFlow's own headers are full of warnings.
    "-w",
    # OneFlow distinguishes types by their addresses, which must be the same in the registrar.
    "-fvisibility=default",
    "-DHALF_ENABLE_CPP11_USER_LITERALS=0",
)


def versions() -> dict[str, str]:
    """Return the versions that the registrar is built for: those of the installed OneFlow and of Python.

    Raises
    ------
    LoadError
        OneFlow is not installed, or the registrar does not support its version.
    """
    if find_package("oneflow") is None:
        raise LoadError("OneFlow is not installed: pip install oneflow==0.8.0")
    version = importlib.metadata.version("oneflow")
    if _minor(version) not in _VERSIONS:
        raise LoadError(
            f"ops can be entered into OneFlow {' and '.join(_VERSIONS)}, not {version}: pip install oneflow==0.8.0"
        )
    return {"OneFlow": version, "Python": f"{sys.version_info[0]}.{sys.version_info[1]}"}


def compile_library() -> Path:
    """Compile the registrar for the installed OneFlow, unless the cache has it.

    Raises
    ------
    LoadError
        As for `versions`.
    BuildError
        There is no compiler, it fails, or headers are missing.
    CacheError
        The cache cannot be written.
    """
    version, package = versions()["OneFlow"], find_package("oneflow")
    assert package is not None
    python = python_headers("the registrar for OneFlow")
    headers, ours = package / "include", paths.CPP_DEFS / "include"
    # Last: the wheel's headers contain a copy of old system headers, and ours replace OneFlow's elsewhere.
    late = (headers, headers / "glog-build", ours)
    registry = paths.REGISTRY / "oneflow"
    return compile_registrar(
        "oneflow",
        flags=(
            *_FLAGS,
            f"-I{registry / 'versions' / _minor(version)}",
            f"-I{registry / 'declarations'}",
            f"-I{python}",
            f"-fmacro-prefix-map={package}={package.name}",
            *(word for each in late for word in ("-idirafter", str(each))),
        ),
        include=(paths.REGISTRY,),
        libraries=_libraries(package),
        key=(version,),
    )


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _libraries(package: Path) -> list[str]:
    # No run-time search path is needed: OneFlow loads these libraries first, wherever it is installed.
    folder = package.parent / "oneflow.libs"
    names = [found.name for pattern in _LIBRARIES for found in sorted(folder.glob(pattern))]
    if len(names) < len(_LIBRARIES):
        raise BuildError(f"{folder} lacks one of {', '.join(_LIBRARIES)}: is this OneFlow's wheel from PyPI?")
    return [
        f"-L{folder}",
        *(f"-l:{name}" for name in names),
        # OneFlow's copy of glog exports nothing.
        str(package / "include" / "glog-build" / "libglog.a"),
        "-Wl,--exclude-libs,ALL",
    ]


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        Its file.
    services : abi.Services
        The callbacks that resolve kernels.
    load : callable
        Called with the name of an op when it is first needed; must `add` it.
    in_kernels : tuple of set and callable
        While the set is not empty, every call of an op calls the function with the op's name; the function may raise.

    Raises
    ------
    LoadError
        OneFlow lacks what the registrar needs.
    """

    def __init__(
        self,
        library: Path,
        services: abi.Services,
        load: Callable[[str], None],
        in_kernels: tuple[list[int], Callable[[str], None]],
    ) -> None:
        self._internal = internal = ctypes.CDLL(importlib.import_module("oneflow._oneflow_internal").__file__)
        # The registrar keeps pointers to both as long as the process lives.
        self._services = services
        self._load = LoadFn(reporting(load))
        try:
            self._module = import_library(_NAME, library)
            tensor_type = ctypes.c_void_p.in_dll(internal, "_ZN7oneflow3one19PyTensorObject_TypeE")
            new_tensor = internal["_ZN7oneflow3one12PyTensor_NewERKSt10shared_ptrINS0_6TensorEE"]
        except (ImportError, ValueError, AttributeError) as error:
            raise LoadError(f"OneFlow lacks a function that the registrar needs: {error}") from error
        self._module.init(
            ctypes.addressof(services),
            ctypes.cast(self._load, ctypes.c_void_p).value,
            ctypes.addressof(tensor_type),
            ctypes.cast(new_tensor, ctypes.c_void_p).value,
            *in_kernels,
            f"{paths.PACKAGE}/",
        )
        blas.watch_threads(self._module.set_blas_threads)
        #: Returns the failures of kernels since the last call, or None.
        self.take_failures: Callable[[], str | None] = self._module.take_failures
        #: Whether OneFlow waits for what runs on this thread.
        self.is_worker: Callable[[], bool] = self._module.is_worker

    def add(self, name: str, definition: int, index: int, gradient: int | None, kernel_id: int) -> str:
        """Set or replace the op of a name, and return the name under which OneFlow has it.

        Parameters
        ----------
        definition : int
            The address of a ``pk_definition``, which must stay valid as long as the process lives.
        index : int
            The position of the op in the definition.
        gradient : int or None
            The position of its gradient in the definition.
        kernel_id : int
            The id by which `services` resolves its kernel.
        """
        try:
            entered: str = self._module.add(name, definition, index, -1 if gradient is None else gradient, kernel_id)
        except RuntimeError as error:
            raise LoadError(f"op {name!r} cannot be entered into OneFlow: {error}") from error
        return entered

    def remove(self, name: str) -> None:
        """Remove the op of a name, so that it is loaded again when it is next needed."""
        self._module.remove(name)

    def make_call(
        self, op: OpDef, inputs: Sequence[int], outputs: Sequence[int], attributes: Mapping[str, Any], *, is_train: bool
    ) -> Callable[..., tuple[Any, ...]]:
        """Return a function that calls an op with these numbers of input and output tensors for each argument.

        Raises
        ------
        RuntimeError
            The op cannot be loaded, or OneFlow refuses the attributes.
        """
        values = [abi.encode_attr(a.name, a.type, attributes[a.name]) for a in op.attributes]
        array = (abi.Attr * max(1, len(values)))(*values)
        call: Callable[..., tuple[Any, ...]] = self._module.make_call(
            op.name, tuple(inputs), tuple(outputs), ctypes.addressof(array), len(values), is_train
        )
        return call

    def report_tensors(self, report: Callable[[bytes, int], None]) -> bool:
        """Make OneFlow call `report` with the name of a watcher and a tensor in a graph, for the life of the process.

        Returns
        -------
        bool
            Whether this version of OneFlow supports it.
        """
        self._report = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)(report)
        watcher = self._module.make_watcher(ctypes.cast(self._report, ctypes.c_void_p).value)
        if watcher:
            ctypes.c_void_p.in_dll(self._internal, _WATCHER).value = watcher
        return bool(watcher)
