"""What registrars call when they want an op that they do not have yet."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from pykernels import abi
from pykernels.errors import PykernelsError

__all__ = ["LoadFn", "reporting"]

#: ``LoadFunction`` of ``registry/host/op.h``.
LoadFn = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


def reporting(load: Callable[[str], None]) -> Callable[[bytes, int, int], int]:
    """`load` for `LoadFn`: what it raises becomes the error of whoever wanted the op."""

    def report(name: bytes, error: int, size: int) -> int:
        try:
            load(name.decode())
        except PykernelsError as problem:
            abi.write_text(error, size, str(problem))
            return 1
        except BaseException as problem:
            # Whatever happens here must not leave through a framework's C frames.
            abi.write_text(error, size, f"loading op {name.decode()!r} failed: {type(problem).__name__}: {problem}")
            return 1
        return 0

    return report
