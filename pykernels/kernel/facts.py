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
class PythonCall:
    """A call that a compiled kernel leaves to Python."""

    #: The function, such as ``"numpy.fft:fft"``, or a helper of the kernel, such as ``"op_py_kernel.py:smooth"``.
    function: str
    #: The descriptions of its positional arguments, and pairs of a keyword and a description, as Python writes them.
    arguments: str
    #: The description of its result, as Python writes it.
    result: str
    #: ``file:line``, within the op's folder if it lies there.
    where: str
    #: Why it is not compiled, and what to write instead.
    reason: str

    @property
    def name(self) -> str:
        """The name of the function, as users write it."""
        return name_of(self.function)


def name_of(path: str) -> str:
    """Return the name of a function as users write it: ``"np.fft.fft"`` for ``"numpy.fft:fft"``."""
    home, _, name = path.partition(":")
    if home.endswith(".py"):
        return name
    return path.replace(":ndarray.", ":").replace(":", ".").replace("numpy.", "np.", 1)


@dataclass(frozen=True)
class Facts:
    """The record kept beside a compiled kernel in the cache."""

    #: ``"elementwise"``, ``"fused"``, ``"loops"``, ``"whole-array"`` or ``"Python"``.
    form: str
    #: Why it has no faster form; empty if it is elementwise.
    reason: str = ""
    #: The C math functions that it computes in vectors, by their C names (``"expf"``).
    vector_math: tuple[str, ...] = ()
    #: The functions that it calls lane by lane, since this machine has no vector version.
    scalar_math: tuple[str, ...] = ()
    #: The target of the code: ``"avx512"``, ``"avx2"``, ``"sse2"`` or another; empty if it runs as Python.
    instruction_set: str = ""
    #: Whether it calls matrix products.
    blas: bool = False
    #: What takes functions of NumPy that sort (`numpy_sorting`), such as ``"pk_kernel_use_numpy_argsort_float32"``.
    sorting: tuple[str, ...] = ()
    #: Whether a framework may distribute its iterations (`pykernels.prange`) over threads.
    in_pieces: bool = False
    #: The number of passes, if it is fused.
    stages: int = 0
    #: What NumPy does faster on large arrays, so that it runs there instead; empty if nothing.
    slower: str = ""
    #: The number of elements from which NumPy runs.
    slower_from: int = 0
    #: Whether its arithmetic may be regrouped (`KernelFunction.fast_math`).
    fast_math: bool = False
    #: If it is not fused, the numbers on which it may be specialized to become fused (`Signature`).
    specialize_on: tuple[str, ...] = ()
    #: The calls that its machine code leaves to Python.
    python_calls: tuple[PythonCall, ...] = ()

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
        known["python_calls"] = tuple(PythonCall(**call) for call in known.get("python_calls", ()))
        return cls(**known)
