"""Load ops that registrars request."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

from pykernels.base import callbacks
from pykernels.base.errors import LoadError
from pykernels.define.definition import OpDef
from pykernels.load.module import OpModule

#: ``LoadFunction`` of ``registry/host/op.h``.
LoadFn = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


def reporting(load: Callable[[str], None]) -> Callable[[bytes, int, int], int]:
    """Return `load` as a `LoadFn`, whose exceptions become errors of the requesting registrar."""

    def report(name: bytes, error: int, size: int) -> int:
        op = name.decode()
        return callbacks.answer(lambda: load(op), error, size, f"loading op {op!r} failed: ")

    return report


def module_of(name: str, modules: Mapping[str, OpModule]) -> OpModule:
    """Return the op folder that is named `name`, or that the op type `name` belongs to.

    This raises `LoadError` if neither is loaded.
    """
    # The longest name first: an op of the folder leaky_relu does not belong to a folder leaky.
    for known in sorted(modules, key=len, reverse=True):
        if name == known or name.startswith(f"{known}_"):
            return modules[known]
    loaded = ", ".join(sorted(modules)) or "none"
    raise LoadError(f"op {name!r} is not loaded; the loaded ops are: {loaded}. Call pykernels.load_ops()")


def require_outputs(op: OpDef, where: str) -> None:
    """Raise `LoadError` if an op has no outputs, for the sake of which alone frameworks such as `where` run an op."""
    if not op.outputs:
        changed = next(argument.name for argument in op.inputs if argument.mutable)
        raise LoadError(
            f"op {op.name!r} has no outputs, so {where} cannot run it. Return what it writes into '{changed}' as an "
            "output, or call it in PyTorch, in JAX or on NumPy's arrays"
        )
