"""Find the compiled kernels that a package of ops ships."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykernels.base import abi
from pykernels.build import shipped
from pykernels.kernel.facts import Facts
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction


def kernel_parts(function: KernelFunction, signature: Signature) -> tuple[str | bytes, ...]:
    """Return everything that determines a kernel's code, apart from the compiler."""
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
    """Return the shipped kernel of a signature as `pipeline.compile_kernel` does; None if the op ships none.

    Raises
    ------
    PackageError
        The shipped kernels cannot be used, and there is no compiler.
    """
    folder = function.path.parent
    store = shipped.store_of(folder)
    if store is None:
        return None
    specialized = [signature]
    while name := store.specialize_on(folder, kernel_parts(function, specialized[-1])):
        specialized.append(specialized[-1].specialize((name,), values))
    for given, result in ((signature.without_ranks(), signature), *((each, each) for each in reversed(specialized))):
        found = store.find(folder, kernel_parts(function, given))
        if found is not None:
            return found[0], Facts.from_json(found[1]), result
    return None
