"""Facts about a built kernel: its form, the reason for it, and what its machine code uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ELEMENTWISE", "FUSED", "LOOPS", "NOT_ELEMENTWISE", "NOT_FUSED", "PYTHON", "WHOLE_ARRAY", "Facts"]

#: One pass over the elements, in vectors, without temporary arrays.
ELEMENTWISE = "elementwise"
#: Tried, and found to need another form. No kernel that is ready to run has this one.
NOT_ELEMENTWISE = "not elementwise"
#: Elementwise operations and reductions on whole arrays, in as few passes as these take.
FUSED = "fused"
#: As `NOT_ELEMENTWISE`.
NOT_FUSED = "not fused"
#: Compiled by numba: a function that has loops of its own, or calls one.
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
        Why it does not have a faster form; empty if it is elementwise.
    vector_math : tuple of str
        The functions of C's mathematics that it computes in vectors, by their names there (``"expf"``).
    scalar_math : tuple of str
        The functions that it calls lane by lane, since they have no vector twin on this machine.
    instruction_set : str
        ``"avx512"``, ``"avx2"``, ``"sse2"`` or another that the code was made for; empty if it is Python.
    blas : bool
        Whether it calls matrix products.
    in_pieces : bool
        Whether a host may share out its iterations (`pykernels.prange`) among threads.
    stages : int
        Over how many passes it is spread, if it is fused.
    slower : str
        What NumPy does faster on large arrays, which are left to it; empty if there is nothing.
    slower_from : int
        From how many elements on.
    fast_math : bool
        Whether its arithmetic may be regrouped (`KernelFunction.fast_math`).
    fixed : tuple of str
        If it is not fused for want of their values: the attributes that decide on it.
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
    fixed: tuple[str, ...] = ()

    @property
    def vectorised(self) -> bool:
        """Whether it is elementwise or fused, and calls no function lane by lane."""
        return self.form in (ELEMENTWISE, FUSED) and not self.scalar_math

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Facts:
        """The facts that `to_json` wrote."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**known)
