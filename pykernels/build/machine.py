"""Describe this machine's C library and processor, to check code that was compiled elsewhere."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path

# The flags in /proc/cpuinfo that each level of the x86-64 psABI requires.
_FLAGS = {
    "x86-64": (),
    "x86-64-v2": ("sse4_2", "ssse3", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
# Prefixes of the flags for arithmetic instructions of x86-64 processors.
_ARITHMETIC = ("abm", "adx", "avx", "bmi", "f16c", "fma", "gfni", "movbe", "popcnt", "sse", "ssse3")


def libc() -> str:
    """Return the C library and its version, such as ``glibc 2.36``; empty if it is not glibc."""
    with contextlib.suppress(ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    return ""


def is_newer(made: str, here: str) -> bool:
    """Return whether code built for the C library `made` is too new for the one `here`."""
    return _version(made) > _version(here)


def _version(library: str) -> tuple[int, ...]:
    return tuple(int(part) for part in library.rpartition(" ")[2].split(".") if part.isdigit())


def flags_needed(cpu: str) -> list[str]:
    """Return the `processor_flags` that code for `cpu` needs; native code needs all those of this processor."""
    if cpu in _FLAGS:
        return list(_FLAGS[cpu])
    flags = sorted(processor_flags())
    # On other machines all flags are instructions.
    return [flag for flag in flags if platform.machine() != "x86_64" or flag.startswith(_ARITHMETIC)]


@functools.lru_cache(maxsize=1)
def processor_flags() -> frozenset[str]:
    """Return the flags of this processor in /proc/cpuinfo; none if it lists none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    shown = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(shown, ()))
