"""Build and call the native registrar for ONNX Runtime: a library of custom ops, built once for all versions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from pykernels.base import abi
from pykernels.base.errors import LoadError
from pykernels.define.definition import OpDef
from pykernels.frameworks.registrar_build import compile_registrar, open_library


def versions() -> dict[str, str]:
    """Return the versions that the registrar is built for: any ONNX Runtime."""
    return {}


def compile_library() -> Path:
    """Compile the registrar unless the cache has it."""
    return compile_registrar("onnxruntime")


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        The file of the registrar.
    services : abi.Services
        The callbacks that resolve kernels.

    Raises
    ------
    LoadError
        This system lacks what the registrar needs.
    """

    def __init__(self, library: Path, services: abi.Services) -> None:
        #: The library's path for a session's options.
        self.path = library
        self._library = open_library(library)
        # The registrar keeps a pointer to the services until the process ends.
        self._services = services
        self._library.pk_onnxruntime_init(ctypes.byref(services))
        self._add = self._library.pk_onnxruntime_add
        self._add.restype = ctypes.c_int64

    def add(self, domain: str, name: str, op: OpDef, kernel_id: int, dtypes: Sequence[Sequence[int]]) -> int:
        """Create a node type that lasts as long as the process; return its number.

        Parameters
        ----------
        op : OpDef
            The op; its definition must stay loaded as long as the process.
        kernel_id : int
            The number by which `services` resolves the kernel.
        dtypes : sequence of sequence of int
            For each set of types that its nodes can have, the dtype numbers of all input arguments, 0 for any dtype,
            then of all output arguments.

        Raises
        ------
        LoadError
            ONNX Runtime does not support such an op.
        """
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        flat = [dtype for row in dtypes for dtype in row]
        made: int = self._add(
            domain.encode(),
            name.encode(),
            ctypes.c_void_p(op.definition.address),
            ctypes.c_int32(op.index),
            ctypes.c_int64(kernel_id),
            (ctypes.c_int32 * max(1, len(flat)))(*flat),
            ctypes.c_int32(len(dtypes)),
            error,
            ctypes.c_size_t(len(error)),
        )
        if made < 0:
            raise LoadError(error.value.decode(errors="replace"))
        return made

    def offer(self, numbers: Sequence[int]) -> None:
        """Set the node types for the next options that the library is added to."""
        self._library.pk_onnxruntime_offer((ctypes.c_int64 * max(1, len(numbers)))(*numbers), len(numbers))
