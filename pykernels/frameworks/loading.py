"""What registrars call when they want an op that they do not have yet."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pykernels import abi
from pykernels.diagnostics import without_excerpt
from pykernels.errors import LoadError, PykernelsError

if TYPE_CHECKING:
    from pykernels.module import OpModule

__all__ = ["LoadFn", "module_of", "reporting"]

#: ``LoadFunction`` of ``registry/host/op.h``.
LoadFn = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


def reporting(load: Callable[[str], None], *, in_one_line: bool = False) -> Callable[[bytes, int, int], int]:
    """`load` for `LoadFn`: what it raises becomes the error of whoever wanted the op."""

    def report(name: bytes, error: int, size: int) -> int:
        try:
            load(name.decode())
        except PykernelsError as problem:
            abi.write_text(error, size, without_excerpt(str(problem)) if in_one_line else str(problem))
            return 1
        except BaseException as problem:
            # Whatever happens here must not leave through a framework's C frames.
            abi.write_text(error, size, f"loading op {name.decode()!r} failed: {type(problem).__name__}: {problem}")
            return 1
        return 0

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
