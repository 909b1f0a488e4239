"""The machine: its C library and the instructions of its processor, for code that is made on another."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path

__all__ = ["flags_needed", "is_newer", "libc", "processor_flags"]

# What /proc/cpuinfo has to show for each level of the x86-64 psABI.
_FLAGS = {
    "x86-64": (),
    "x86-64-v2": ("sse4_2", "ssse3", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
# Beginnings of what it shows of an x86-64 processor's instructions for arithmetic.
_ARITHMETIC = ("abm", "adx", "avx", "bmi", "f16c", "fma", "gfni", "movbe", "popcnt", "sse", "ssse3")


def libc() -> str:
    """The C library and its version, such as ``glibc 2.36``; empty if it is not GNU's."""
    with contextlib.suppress(ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    return ""


def is_newer(made: str, here: str) -> bool:
    """Whether what is made for one C library cannot be used with another."""
    return _version(made) > _version(here)


def _version(library: str) -> tuple[int, ...]:
    return tuple(int(part) for part in library.rpartition(" ")[2].split(".") if part.isdigit())


def flags_needed(cpu: str) -> list[str]:
    """What code for a processor needs of `processor_flags`: made for the one at hand, all that this one has."""
    if cpu in _FLAGS:
        return list(_FLAGS[cpu])
    flags = sorted(processor_flags())
    # Other machines show instructions alone.
    return [flag for flag in flags if platform.machine() != "x86_64" or flag.startswith(_ARITHMETIC)]


@functools.lru_cache(maxsize=1)
def processor_flags() -> frozenset[str]:
    """What Linux says of the processor at hand; nothing where it says nothing."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    shown = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(shown, ()))
