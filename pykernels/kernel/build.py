"""Build the kernel of a signature: take it from the cache, compile it, or run it as Python if numba cannot."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pykernels.base import abi, settings
from pykernels.base.errors import BuildError, CompileFailed, PykernelsWarning
from pykernels.build import linking
from pykernels.kernel import blas, numpy_sorting, python_calls, python_form
from pykernels.kernel.facts import ELEMENTWISE, PYTHON, Facts
from pykernels.kernel.pipeline import compile_kernel
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction

_FLAGS = {ELEMENTWISE: abi.KernelFlag.ELEMENTWISE, PYTHON: abi.KernelFlag.PYTHON}


class BuiltKernel:
    """A kernel ready to run.

    Attributes
    ----------
    struct : abi.Kernel
        What registrars run.
    facts : Facts
        Its form, and what its machine code uses.
    is_slow_told : bool
        Whether a warning has said that Python computes what the machine code cannot.
    """

    def __init__(
        self,
        function: KernelFunction,
        op_name: str,
        signature: Signature,
        output_names: Sequence[str],
        entry: Any,
        facts: Facts,
    ) -> None:
        self.function = function
        self.op_name = op_name
        self.signature = signature
        self.output_names = tuple(output_names)
        self.facts = facts
        self.is_slow_told = False
        self._entry = entry  # keeps the library or the callback alive
        positions = [position for _, position in signature.scalars]
        self.struct = abi.Kernel(
            run=ctypes.cast(entry, ctypes.c_void_p),
            flags=_FLAGS.get(facts.form, abi.KernelFlag.PYTHON if facts.python_calls else 0)
            | (abi.KernelFlag.ITERATIONS if facts.in_pieces else 0),
            n_scalars=len(positions),
            scalars=(ctypes.c_int32 * max(1, len(positions)))(*positions),
            ranks=(ctypes.c_int32 * max(1, len(signature.tensors)))(*(tensor.ndim for tensor in signature.tensors)),
        )

    @property
    def reason(self) -> str | None:
        """The reason why it runs as Python, if it does."""
        return self.facts.reason if self.facts.form == PYTHON else None

    def __repr__(self) -> str:
        return f"<{self.facts.form} kernel {self.function.name} of {self.op_name} {self.signature}>"


def build_kernel(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    values: Mapping[str, Any] | None = None,
) -> BuiltKernel:
    """Return the kernel for a signature; compile it unless the cache has it.

    Parameters
    ----------
    shapes : sequence of tuple of int
        The shapes of the first call. The plain NumPy run uses them if the types alone do not show whether the kernel is
        correct.
    values : mapping, optional
        The values of the scalars, for a form that must be specialized on some of them.

    Raises
    ------
    KernelError
        The kernel is wrong.
    BuildError
        It would run as Python, or call Python, and `require_compiled` forbids it.
    CacheError
        The compiled kernel cannot be stored.
    """
    try:
        path, facts, signature = compile_kernel(function, op_name, signature, output_names, shapes, values or {})
    except CompileFailed:
        raise
    except BuildError as error:
        # A missing compiler is a temporary state of this machine, not a fact about the kernel, so it is not cached.
        facts = Facts(PYTHON, str(error))
    in_python = _in_python(function, facts)
    is_required = settings.must_be_compiled()
    if in_python and is_required:
        raise BuildError(
            f"op {op_name!r}: {in_python}. {settings.REQUIRE_COMPILED} or pykernels.require_compiled forbids it"
        )
    if in_python:
        warnings.warn(f"op {op_name!r}: {in_python}", PykernelsWarning, stacklevel=2)
    if facts.form == PYTHON:
        wrapped = python_form.wrap(function, op_name, signature, output_names)
        return BuiltKernel(function, op_name, signature, output_names, wrapped, facts)
    library = ctypes.CDLL(str(path))
    if facts.blas:
        blas.attach(library)
    numpy_sorting.attach(library, facts.sorting)
    run: Any = library[linking.ENTRY]
    if facts.python_calls:
        python_calls.attach(library, facts.python_calls, function.helpers)
    if facts.slower and not is_required:
        plain = python_form.wrap(function, op_name, signature, output_names)
        library.pk_kernel_hand_over(plain, ctypes.c_int32(len(signature.tensors)), ctypes.c_int64(facts.slower_from))
        run = library["pk_kernel_run_small"]
        run.plain = plain  # lives as long as its caller
    return BuiltKernel(function, op_name, signature, output_names, run, facts)


def _in_python(function: KernelFunction, facts: Facts) -> str:
    """Return what of a kernel runs as Python, and why; empty if nothing does."""
    if facts.form == PYTHON:
        return f"{function.name} runs as Python, which is slower and holds the GIL, because {facts.reason}"
    calls = (f"{function.path.parent / call.where}: {call.name}: {call.reason}" for call in facts.python_calls)
    made = "; ".join(dict.fromkeys(calls))
    return f"{function.name} is compiled, but for calls of Python, which hold the GIL: {made}" if made else ""
