"""The native registrar for ONNX Runtime: a library of custom ops, built once for all versions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from pykernels.base import abi, paths
from pykernels.base.errors import LoadError
from pykernels.build import cache, toolchain
from pykernels.define.definition import OpDef
from pykernels.frameworks.registrar_host import OLD_STRINGS, OPTIMIZED, build_host, host_parts
from pykernels.frameworks.registrar_libraries import find_library, open_library

__all__ = ["Registrar", "build", "versions"]


def versions() -> dict[str, str]:
    """What the registrar is made for: any ONNX Runtime."""
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
    return find_library("onnxruntime", versions(), _compile)


def _compile() -> Path:
    parts = [paths.REGISTRY / "onnxruntime.cpp", *sorted((paths.REGISTRY / "onnxruntime").glob("*.cpp"))]
    return toolchain.build_shared(
        "onnxruntime_registrar",
        [paths.REGISTRY / "onnxruntime" / "registrar.cpp"],
        kind="registrars",
        # What it meets is C: its strings are those of the other registrars, so that it shares their host.
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

    Raises
    ------
    LoadError
        This system lacks what the registrar needs.
    """

    def __init__(self, library: Path, services: abi.Services) -> None:
        #: The library, as a session's options take it.
        self.path = library
        self._library = open_library(library)
        # The registrar keeps a pointer to them for as long as the process lives.
        self._services = services
        self._library.pk_onnxruntime_init(ctypes.byref(services))
        self._add = self._library.pk_onnxruntime_add
        self._add.restype = ctypes.c_int64

    def add(self, domain: str, name: str, op: OpDef, number: int, dtypes: Sequence[Sequence[int]]) -> int:
        """Make a node type, and return its number; it lasts as long as the process.

        Parameters
        ----------
        op : OpDef
            Its definition must stay loaded as long.
        number : int
            The number under which `services` resolves its kernels.
        dtypes : sequence of sequence of int
            For each set of types that its nodes can have, the dtype numbers of all input arguments, 0 for any dtype,
            then of all output arguments.

        Raises
        ------
        LoadError
            ONNX Runtime cannot have such an op.
        """
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        flat = [dtype for row in dtypes for dtype in row]
        made: int = self._add(
            domain.encode(),
            name.encode(),
            ctypes.c_void_p(op.definition.address),
            ctypes.c_int32(op.index),
            ctypes.c_int64(number),
            (ctypes.c_int32 * max(1, len(flat)))(*flat),
            ctypes.c_int32(len(dtypes)),
            error,
            ctypes.c_size_t(len(error)),
        )
        if made < 0:
            raise LoadError(error.value.decode(errors="replace"))
        return made

    def offer(self, numbers: Sequence[int]) -> None:
        """Have the options that are next given the library take these node types."""
        self._library.pk_onnxruntime_offer((ctypes.c_int64 * max(1, len(numbers)))(*numbers), len(numbers))
