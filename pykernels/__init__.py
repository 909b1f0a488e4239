"""Plug-in neural-network operators: one folder of three short files, an op in every framework."""

from __future__ import annotations

from pykernels import fork
from pykernels.builder import user_op_builder
from pykernels.discovery import list_ops, load_ops, reload, unload_ops
from pykernels.errors import (
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
from pykernels.kernel.prange import prange
from pykernels.module import OpModule, custom_op_module
from pykernels.python_def import CustomOpProp
from pykernels.registration import register

__version__ = "0.1.0"

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
    "custom_op_module",
    "fork",
    "list_ops",
    "load_ops",
    "prange",
    "register",
    "reload",
    "unload_ops",
    "user_op_builder",
]


def __dir__() -> list[str]:
    # What editors and notebooks complete: what users call.
    return sorted({*__all__, "__version__", "errors", "onnx", "testing"} & globals().keys())
