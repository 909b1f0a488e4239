"""Find kernels that came compiled with a package of ops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykernels.base import abi
from pykernels.build import shipped
from pykernels.kernel.facts import Facts
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction

__all__ = ["FIXED", "kernel_parts", "shipped_kernel"]

#: What follows the parts of a signature for the names of the numbers that its kernel has compiled in.
FIXED = "fixed"


def kernel_parts(function: KernelFunction, signature: Signature) -> tuple[str | bytes, ...]:
    """What the code of a kernel follows from, whatever compiles it."""
    return (
        function.name,
        *function.fingerprint,
        str(signature),
        repr(signature.scalars),
        repr(sorted(signature.reals)),
        repr(sorted(signature.flags)),
        str(abi.KERNEL_ABI),
    )


def shipped_kernel(
    function: KernelFunction, signature: Signature, values: Mapping[str, Any]
) -> tuple[Path, Facts, Signature] | None:
    """The kernel of a signature as `pipeline.compile_kernel` returns it; None if none has come with the op.

    Raises
    ------
    PackageError
        What has come with the op cannot be used, and there is no compiler.
    """
    folder = function.path.parent
    store = shipped.store_of(folder)
    if store is None:
        return None
    marker = store.find(folder, (*kernel_parts(function, signature), FIXED))
    fixed = signature if marker is None else signature.fix(marker[1][FIXED], values)
    for given, result in ((signature.without_ranks(), signature), (fixed, fixed), (signature, signature)):
        found = store.find(folder, kernel_parts(function, given))
        if found is not None:
            return found[0], Facts.from_json(found[1]), result
    return None
