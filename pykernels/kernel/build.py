"""The kernel of a signature: from the cache, compiled into it, or as Python where numba cannot."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import gc
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels import abi, cache, toolchain
from pykernels.errors import BuildError, CompileFailed, KernelError, PykernelsWarning
from pykernels.kernel import blas, linking, python_form, reference, vector_math
from pykernels.kernel.environment import environment
from pykernels.kernel.facts import ELEMENTWISE, NOT_ELEMENTWISE, NOT_FUSED, PYTHON, Facts
from pykernels.kernel.signature import Signature, group_shapes
from pykernels.kernel.source import KernelFunction

__all__ = ["BuiltKernel", "build_kernel", "compile_kernel"]

# What decides on the code of elementwise kernels: part of their keys, so that an edit here compiles them anew.
_GENERATOR = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("construction", "elementwise", "evaluation", "expression", "fast_math", "functions", "linking"),
        *("inline_math", "inline_steps", "inline_tables", "target", "vector_code", "vector_math", "vector_operations"),
    )
)
# The same for fused kernels.
_FUSING = _GENERATOR + tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("array_evaluation", "array_nodes", "axes", "folds", "fused", "fused_code", "graph", "masked_memory"),
        *("placing", "planning", "stage_code", "stages", "view_evaluation"),
    )
)
# The same for kernels that numba compiles.
_COMPILER = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("adapter", "bounds", "codegen", "counting", "fast_math", "inline_math", "inline_steps", "inline_tables"),
        *("iterations", "linking", "loop_math", "lowering", "native", "numba_errors", "prange", "raising"),
        *("reductions", "reshaping", "slower", "target", "typing", "vector_math", "vector_operations", "weak"),
    )
)

# From so many elements on, what NumPy does faster is left to it: it takes some ten microseconds to get there.
_LARGE = 1 << 14

_FLAGS = {ELEMENTWISE: abi.KernelFlag.ELEMENTWISE, PYTHON: abi.KernelFlag.PYTHON}


class BuiltKernel:
    """A kernel ready to run.

    Attributes
    ----------
    struct : abi.Kernel
        What hosts get.
    facts : Facts
        Its form, and what its machine code uses.
    """

    def __init__(
        self,
        function: KernelFunction,
        op_name: str,
        signature: Signature,
        output_names: Sequence[str],
        entry: Any,
        facts: Facts,
        id_: int,
    ) -> None:
        self.function = function
        self.op_name = op_name
        self.signature = signature
        self.output_names = tuple(output_names)
        self.facts = facts
        self._entry = entry  # keeps the library or the callback alive
        positions = [position for _, position in signature.scalars]
        self.struct = abi.Kernel(
            run=ctypes.cast(entry, ctypes.c_void_p),
            flags=_FLAGS.get(facts.form, 0) | (abi.KernelFlag.ITERATIONS if facts.in_pieces else 0),
            n_scalars=len(positions),
            scalars=(ctypes.c_int32 * max(1, len(positions)))(*positions),
            id=id_,
            ranks=(ctypes.c_int32 * max(1, len(signature.tensors)))(*(tensor.ndim for tensor in signature.tensors)),
        )

    @property
    def reason(self) -> str | None:
        """Why it runs as Python, if it does."""
        return self.facts.reason if self.facts.form == PYTHON else None

    def __repr__(self) -> str:
        return f"<{self.facts.form} kernel {self.function.name} of {self.op_name} {self.signature}>"


def build_kernel(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    id_: int,
    values: Mapping[str, Any] | None = None,
) -> BuiltKernel:
    """The kernel for a signature; compiled, unless it is in the cache already.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Shapes of the tensors that it is first needed for, on which the plain NumPy run is tried when the types
        alone do not tell whether the kernel is right.
    values : mapping, optional
        The numbers that are handed over at run time: some forms have to have the values of some compiled in.

    Raises
    ------
    KernelError
        The kernel cannot be right.
    CacheError
        The compiled kernel cannot be stored.
    """
    try:
        path, facts, signature = compile_kernel(function, op_name, signature, output_names, shapes, values or {})
    except CompileFailed:
        raise
    except BuildError as error:
        # No compiler: a passing state of this machine, not a fact about the kernel to keep in the cache.
        facts = Facts(PYTHON, str(error))
    if facts.form == PYTHON:
        warnings.warn(
            f"op {op_name!r}: {function.name} runs as Python, which is slower and holds the GIL, because "
            f"{facts.reason}",
            PykernelsWarning,
            stacklevel=2,
        )
        wrapped = python_form.wrap(function, op_name, signature, output_names)
        return BuiltKernel(function, op_name, signature, output_names, wrapped, facts, id_)
    library = ctypes.CDLL(str(path))
    if facts.blas:
        blas.attach(library)
    run: Any = library[linking.ENTRY]
    if facts.slower:
        plain = python_form.wrap(function, op_name, signature, output_names)
        library.pk_kernel_hand_over(plain, ctypes.c_int32(len(signature.tensors)), ctypes.c_int64(_LARGE))
        run = library["pk_kernel_run_small"]
        run.plain = plain  # kept as long as what calls it
    return BuiltKernel(function, op_name, signature, output_names, run, facts, id_)


def compile_kernel(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    values: Mapping[str, Any],
    filename: str = linking.LOADABLE,
) -> tuple[Path, Facts, Signature]:
    """The machine code for a signature, for the chosen processor; from the cache, or compiled into it.

    Parameters
    ----------
    function, op_name, signature, output_names, shapes, values
        As for `build_kernel`.
    filename : str
        `linking.LOADABLE` or `linking.RELOCATABLE`.

    Returns
    -------
    path : Path
        Of a file of that name; it is empty if the kernel has to run as Python.
    facts : Facts
    signature : Signature
        With the numbers among `values` that are compiled in.

    Raises
    ------
    KernelError, CacheError
        As `build_kernel`.
    BuildError
        There is no compiler, or it failed.
    """
    entry = _elementwise_entry(function, signature, filename)
    facts = Facts.from_json(entry.facts)
    reasons = []
    if facts.form == NOT_ELEMENTWISE:
        reasons.append(facts.reason)
        entry, fixed = _fused_entry(function, signature, values, filename)
        facts = Facts.from_json(entry.facts)
        if facts.form != NOT_FUSED:
            signature = fixed
    if facts.form == NOT_FUSED:
        reasons.append(facts.reason)
        entry = cache.build(
            "kernels",
            _key(function, signature, output_names, filename),
            filename,
            lambda path: _compile(function, op_name, signature, output_names, shapes, path).to_json(),
        )
        facts = Facts.from_json(entry.facts)
    if facts.form != PYTHON:
        facts = dataclasses.replace(facts, reason="; ".join(dict.fromkeys(reasons)))
    return entry.path, facts, signature


def _elementwise_entry(function: KernelFunction, signature: Signature, filename: str) -> cache.Entry:
    """The elementwise kernel for the dtypes of a signature, whatever its ranks; or why there is none."""
    signature = signature.without_ranks()
    key = cache.digest(
        [
            *_identity(function, signature),
            filename,
            _generator(_GENERATOR),
            *linking.RUNTIME["elementwise"],
            vector_math.identity(),
        ]
    )
    return cache.build("kernels", key, filename, lambda path: _compile_elementwise(function, signature, path).to_json())


def _compile_elementwise(function: KernelFunction, signature: Signature, path: Path) -> Facts:
    """Write the shared object, or an empty file for a kernel that is not elementwise."""
    from pykernels.kernel import elementwise

    try:
        expression = elementwise.recognise(function, signature)
    except elementwise.NotElementwise as reason:
        path.write_bytes(b"")
        return Facts(NOT_ELEMENTWISE, str(reason))
    toolchain.compiler()  # before LLVM's work, which would be in vain
    from pykernels.kernel import vector_code

    return vector_code.compile_kernel(expression, path, function.where, fast_math=function.fast_math)


def _fused_entry(
    function: KernelFunction, signature: Signature, values: Mapping[str, Any], filename: str
) -> tuple[cache.Entry, Signature]:
    """The fused kernel for a signature, and which numbers it has compiled in; or why there is none."""
    while True:
        key = cache.digest(
            [
                *_identity(function, signature),
                filename,
                _generator(_FUSING),
                *linking.RUNTIME["fused"],
                vector_math.identity(),
            ]
        )
        entry = cache.build("kernels", key, filename, functools.partial(_write_fused, function, signature))
        fixed = Facts.from_json(entry.facts).fixed
        if not set(fixed) & {name for name, _ in signature.scalars} or not values.keys() >= set(fixed):
            return entry, signature
        signature = signature.fix(fixed, values)


def _write_fused(function: KernelFunction, signature: Signature, path: Path) -> dict[str, Any]:
    """Write the shared object, or an empty file for a kernel that is not fused."""
    from pykernels.kernel import fused

    try:
        expression = fused.recognise(function, signature)
        toolchain.compiler()
        from pykernels.kernel import fused_code

        return fused_code.compile_kernel(expression, path, function.where, fast_math=function.fast_math).to_json()
    except fused.Unfit as reason:
        path.write_bytes(b"")
        return Facts(NOT_FUSED, str(reason), fixed=reason.names).to_json()


def _compile(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    path: Path,
) -> Facts:
    """Write the shared object, or an empty file for a kernel that must run as Python, so that it is tried once."""
    toolchain.compiler()  # before numba's work, which would be in vain
    from pykernels.kernel import native

    try:
        with _uncollected():
            facts, is_widened = native.compile_kernel(function, signature, output_names, path)
    except native.NotNative as error:
        path.write_bytes(b"")
        return Facts(PYTHON, str(error))
    except KernelError as error:
        # The plain run tells the same mistake in NumPy's terms, if it can.
        _run_plain(function, op_name, signature, output_names, shapes)
        raise KernelError(f"op {op_name!r}: {error}") from error
    if is_widened:
        try:
            _run_plain(function, op_name, signature, output_names, shapes)
        except KernelError as error:
            # An exception of the kernel's own may come from the values of the trial, which nobody has asked for.
            if error.__cause__ is None:
                raise
    return facts


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Let Python look for no garbage meanwhile: numba makes many objects, and looking takes a tenth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _run_plain(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Try the kernel by plain NumPy on ones; `KernelError` if it fails, or its results do not fit the definition."""
    arrays = (np.ones(shape, tensor.dtype) for shape, tensor in zip(shapes, signature.tensors))
    args = group_shapes(signature.inputs, arrays)
    outs = group_shapes(signature.outputs, arrays)
    keywords: dict[str, Any] = dict(signature.constants)
    for name, _ in signature.scalars:
        keywords[name] = True if name in signature.flags else 1.0 if name in signature.reals else 1
    reference.run(function, op_name, args, outs, output_names, keywords, signature.mutable)


def _key(function: KernelFunction, signature: Signature, output_names: Sequence[str], filename: str) -> str:
    return cache.digest(
        [
            *_identity(function, signature),
            filename,
            *output_names,
            _generator(_COMPILER),
            *linking.RUNTIME["kernel_runtime"],
            vector_math.identity(),
        ]
    )


def _identity(function: KernelFunction, signature: Signature) -> tuple[str | bytes, ...]:
    return (
        function.name,
        *function.fingerprint,
        str(signature),
        repr(signature.scalars),
        repr(sorted(signature.reals)),
        repr(sorted(signature.flags)),
        str(abi.KERNEL_ABI),
        *environment(),
    )


@functools.cache
def _generator(files: tuple[Path, ...]) -> str:
    return cache.digest(files)
