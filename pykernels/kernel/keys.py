"""Compute the cache keys of kernels from everything that their machine code depends on."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pykernels.base.paths import CPP_DEFS, PACKAGE
from pykernels.build import cache
from pykernels.kernel.emit import vector_math
from pykernels.kernel.environment import environment
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction
from pykernels.kernel.shipping import kernel_parts

# The sources of the compiler. Every key has their digest, so an edit to any of them recompiles all kernels.
_GENERATOR = (
    *(file for folder in ("build", "kernel") for file in sorted((PACKAGE / folder).rglob("*.py"))),
    *sorted((CPP_DEFS / "runtime").rglob("*.[ch]*")),
    *sorted((CPP_DEFS / "include" / "pykernels").glob("*.h")),
)


def fused_key(function: KernelFunction, signature: Signature, filename: str) -> str:
    """Return the key of a fused kernel, or of an elementwise one if the signature has no ranks."""
    return _key(function, signature, filename, (), "fused")


def compiled_key(function: KernelFunction, signature: Signature, filename: str, output_names: Sequence[str]) -> str:
    """Return the key of a kernel that numba compiles."""
    return _key(function, signature, filename, output_names, "numba")


def _key(function: KernelFunction, signature: Signature, filename: str, names: Sequence[str], form: str) -> str:
    return cache.digest(
        [
            *kernel_parts(function, signature),
            *environment(),
            *(filename, form, *names),
            _generator(),
            vector_math.identity(),
        ]
    )


@functools.cache
def _generator() -> str:
    return cache.digest(_GENERATOR)
