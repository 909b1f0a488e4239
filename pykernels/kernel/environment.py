"""Describe the versions and the processor that compiled code depends on beside its source."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
from pathlib import Path

import numpy as np

from pykernels.base.version import __version__
from pykernels.build import processor

# Environment variables that change how numba compiles a function.
_OPTIONS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")


def environment() -> tuple[str, ...]:
    """Return the versions, numba's options and the processor; import neither numba nor llvmlite."""
    cpu = processor.chosen()
    options = (f"{name}={os.environ.get(name)}" for name in _OPTIONS)
    return (*_versions(), *options, platform.machine(), _processor() if cpu == processor.NATIVE else cpu)


@functools.lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    versions = (_version("numba"), _version("llvmlite"), np.__version__, platform.python_version())
    return (*versions, __version__)


def _version(package: str) -> str:
    """Return a text that identifies the version of a package: its version file, else its metadata.

    importlib.metadata parses e-mail headers and takes as long to import as half of pykernels, so it comes second.
    """
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        file = Path(folder, "_version.py")
        if file.is_file():
            return file.read_text(errors="replace")
    from importlib import metadata

    return metadata.version(package)


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """Return the model and the instruction sets of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    relevant = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(relevant)}))
