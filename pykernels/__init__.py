"""Neural-network operators as plug-ins: write an op once, as a folder of three files, and use it in every framework."""

from __future__ import annotations

from pykernels.adjoint import derive
from pykernels.base import errors, fork
from pykernels.base.errors import (
    BuildError,
    CacheError,
    CallError,
    ClashError,
    CompileFailed,
    DefinitionError,
    KernelError,
    LoadError,
    PackageError,
    PykernelsError,
    PykernelsWarning,
)
from pykernels.base.settings import require_compiled
from pykernels.base.version import __version__
from pykernels.call.builder import user_op_builder
from pykernels.define.prop import CustomOpProp
from pykernels.kernel.numba.rewriting.iterations import prange
from pykernels.load.discovery import list_ops, load_ops, reload, unload_ops
from pykernels.load.module import OpModule, custom_op_module
from pykernels.load.registration import register

__all__ = [
    "BuildError",
    "CacheError",
    "CallError",
    "ClashError",
    "CompileFailed",
    "CustomOpProp",
    "DefinitionError",
    "KernelError",
    "LoadError",
    "OpModule",
    "PackageError",
    "PykernelsError",
    "PykernelsWarning",
    "__version__",
    "custom_op_module",
    "derive",
    "errors",
    "fork",
    "list_ops",
    "load_ops",
    "prange",
    "register",
    "reload",
    "require_compiled",
    "unload_ops",
    "user_op_builder",
]


def __dir__() -> list[str]:
    # Editors and notebooks complete these names.
    return sorted({*__all__, "jax", "onnx", "testing"} & globals().keys())
