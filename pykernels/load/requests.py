"""Answer registrars that want an op which they do not have yet."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pykernels.base import callbacks
from pykernels.base.errors import LoadError

if TYPE_CHECKING:
    from pykernels.load.module import OpModule

__all__ = ["LoadFn", "module_of", "reporting"]

#: ``LoadFunction`` of ``registry/host/op.h``.
LoadFn = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


def reporting(load: Callable[[str], None]) -> Callable[[bytes, int, int], int]:
    """`load` for `LoadFn`: what it raises becomes the error of whoever wanted the op."""

    def report(name: bytes, error: int, size: int) -> int:
        op = name.decode()
        return callbacks.answer(lambda: load(op), error, size, f"loading op {op!r} failed: ")

    return report


def module_of(name: str, modules: Mapping[str, OpModule]) -> OpModule:
    """Of the folders by their names, the one that an op type belongs to, or that has itself this name.

    Raises
    ------
    LoadError
        There is none.
    """
    # The longest name first: an op of the folder leaky_relu is none of a folder leaky.
    for known in sorted(modules, key=len, reverse=True):
        if name == known or name.startswith(f"{known}_"):
            return modules[known]
    loaded = ", ".join(sorted(modules)) or "none"
    raise LoadError(f"there is no op {name!r}, or no more; loaded are: {loaded}. Call pykernels.load_ops()")
