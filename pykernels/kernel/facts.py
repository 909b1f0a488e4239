"""Facts about a built kernel: its form, why it has no faster one, and what its machine code uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: One pass over the elements, in vectors, without temporary arrays.
ELEMENTWISE = "elementwise"
#: Elementwise operations and reductions on whole arrays, in as few passes as possible.
FUSED = "fused"
#: Tried as fused, and in need of another form. No kernel that is ready to run has this form.
NOT_FUSED = "not fused"
#: Compiled by numba: a function with loops, its own or those of a function that it calls.
LOOPS = "loops"
#: Compiled by numba: NumPy on whole arrays, with temporary arrays.
WHOLE_ARRAY = "whole-array"
#: Not compiled.
PYTHON = "Python"


@dataclass(frozen=True)
class Facts:
    """The record kept beside a compiled kernel in the cache.

    Attributes
    ----------
    form : str
        ``"elementwise"``, ``"fused"``, ``"loops"``, ``"whole-array"`` or ``"Python"``.
    reason : str
        Why it has no faster form; empty if it is elementwise.
    vector_math : tuple of str
        The C math functions that it computes in vectors, by their C names (``"expf"``).
    scalar_math : tuple of str
        The functions that it calls lane by lane, since this machine has no vector version.
    instruction_set : str
        The target of the code: ``"avx512"``, ``"avx2"``, ``"sse2"`` or another; empty if it runs as Python.
    blas : bool
        Whether it calls matrix products.
    in_pieces : bool
        Whether a framework may distribute its iterations (`pykernels.prange`) over threads.
    stages : int
        The number of passes, if it is fused.
    slower : str
        What NumPy does faster on large arrays, so that it runs there instead; empty if nothing.
    slower_from : int
        The number of elements from which NumPy runs.
    fast_math : bool
        Whether its arithmetic may be regrouped (`KernelFunction.fast_math`).
    specialize_on : tuple of str
        If it is not fused, the numbers on which it may be specialized to become fused (`Signature`).
    """

    form: str
    reason: str = ""
    vector_math: tuple[str, ...] = ()
    scalar_math: tuple[str, ...] = ()
    instruction_set: str = ""
    blas: bool = False
    in_pieces: bool = False
    stages: int = 0
    slower: str = ""
    slower_from: int = 0
    fast_math: bool = False
    specialize_on: tuple[str, ...] = ()

    @property
    def vectorised(self) -> bool:
        """Whether the kernel is elementwise or fused, and calls no function lane by lane."""
        return self.form in (ELEMENTWISE, FUSED) and not self.scalar_math

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of plain values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Facts:
        """Return the facts that `to_json` wrote."""
        known: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**known)
