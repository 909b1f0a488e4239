"""Compute the cache keys of kernels from everything that their machine code depends on."""

from __future__ import annotations

import functools

from pykernels.base.paths import CPP_DEFS, PACKAGE
from pykernels.build import cache, linking
from pykernels.kernel.emit import vector_math
from pykernels.kernel.environment import environment
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction
from pykernels.kernel.shipping import kernel_parts

# The sources of the compiler and of what it links. Every key has their digest, so an edit to any of them recompiles all
# kernels; one to what only definitions need does not.
_GENERATOR = (
    *(file for folder in ("build", "kernel") for file in sorted((PACKAGE / folder).rglob("*.py"))),
    *(file for files in linking.RUNTIME.values() for file in files),
    *sorted((CPP_DEFS / "include" / "pykernels").glob("*.h")),
)


def kernel_key(function: KernelFunction, signature: Signature, filename: str, form: str, *names: str) -> str:
    """Return the key of a kernel.

    Parameters
    ----------
    form : str
        ``"fused"``, also for elementwise kernels, whose signature has no ranks; or ``"numba"``.
    *names : str
        The names of the outputs, if the form depends on them.
    """
    parts = kernel_parts(function, signature)
    return cache.digest([*parts, *environment(), filename, form, *names, _generator(), vector_math.identity()])


@functools.cache
def _generator() -> str:
    return cache.digest(_GENERATOR)
