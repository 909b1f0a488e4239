"""Find vector functions in libmvec, the vector math library of the C library.

The vector twin of ``expf`` for 16 lanes of AVX-512 is called ``_ZGVeN16v_expf``. The name holds the instruction set,
the number of lanes, a ``v`` for each argument, and the scalar function (the x86-64 vector function ABI).
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class InstructionSet:
    """An instruction set."""

    name: str
    #: The size of its widest vectors, in bytes.
    register: int
    #: Its letters in the names of libmvec, by the size of a vector in bytes.
    letters: Mapping[int, str]
    #: Whether it has fused multiply-add.
    has_fma: bool


def find(function: str, n_arguments: int, item_size: int, lanes: int, instructions: InstructionSet) -> str | None:
    """Return the vector twin of a function of the C library; None if there is none.

    Parameters
    ----------
    function : str
        The name in C, such as ``expf``.
    item_size : int
        The size of an argument in bytes.
    lanes : int
        The number of elements in each argument of the twin.
    """
    library, letter = _library(), instructions.letters.get(lanes * item_size)
    if library is None or letter is None:
        return None
    symbol = f"_ZGV{letter}N{lanes}{'v' * n_arguments}_{function}"
    # Look the symbol up: distributions differ, so a version number would not tell.
    return symbol if hasattr(library, symbol) else None


def identity() -> str:
    """Return what identifies the library in the cache keys of kernels that are linked with it."""
    if _library() is None:
        return "no vector math library"
    return f"libmvec of {os.confstr('CS_GNU_LIBC_VERSION')}"


def path() -> Path:
    """Return the library's file to link with: the one that `find` searches, whichever a linker would choose."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return next(file for file in (Path(line.split()[-1]) for line in lines) if file.name.startswith("libmvec"))


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None
