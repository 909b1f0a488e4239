"""Arrays that end right beside memory that cannot be touched."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

__all__ = ["GuardedArray"]

_PAGE = mmap.PAGESIZE
_CANARY = 0xCA
_libc = ctypes.CDLL(None, use_errno=True)


class GuardedArray:
    """A copy of an array between two pages that cannot be touched.

    Parameters
    ----------
    source : ndarray
        C-contiguous.
    at_end : bool
        Whether its end lies at the page behind it; else its beginning lies at the page before it.

    Attributes
    ----------
    array : ndarray
    """

    def __init__(self, source: np.ndarray, *, at_end: bool) -> None:
        inner = max(1, -(-source.nbytes // _PAGE)) * _PAGE
        self._memory = mmap.mmap(-1, inner + 2 * _PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for guard in (base, base + _PAGE + inner):
            if _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(_PAGE), ctypes.c_int(0)):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        ctypes.memset(base + _PAGE, _CANARY, inner)
        begin = inner - source.nbytes if at_end else 0
        # Not np.frombuffer, which refuses an empty buffer.
        buffer: np.ndarray = np.ndarray(inner, np.uint8, self._memory, _PAGE)
        self._around = [buffer[:begin], buffer[begin + source.nbytes :]]
        self.array: np.ndarray = np.ndarray(source.shape, source.dtype, self._memory, _PAGE + begin)
        self.array[...] = source

    def is_intact(self) -> bool:
        """Whether nobody has written before or behind the array."""
        return all((part == _CANARY).all() for part in self._around)
