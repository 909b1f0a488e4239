"""Find the locks that numba and LLVM hold while they compile, without importing either."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

_LOCKS = {"numba.core.compiler_lock": "global_compiler_lock._lock", "llvmlite.binding.ffi": "lib._lock._lock"}


def locks_of_compilers() -> Iterator[Any]:
    """Yield the locks of the compilers that this process has loaded."""
    for module, name in _LOCKS.items():
        with contextlib.suppress(AttributeError):
            if module in sys.modules:
                yield attrgetter(name)(sys.modules[module])
