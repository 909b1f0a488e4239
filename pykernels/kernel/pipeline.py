"""Compile a kernel in the fastest form that it can have: elementwise, fused, or by numba."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import progress
from pykernels.base.errors import KernelError
from pykernels.build import cache, linking, toolchain
from pykernels.kernel import reference
from pykernels.kernel.facts import FUSED, NOT_FUSED, PYTHON, Facts
from pykernels.kernel.keys import kernel_key
from pykernels.kernel.numba import hooks
from pykernels.kernel.read.signature import Signature, group_shapes
from pykernels.kernel.read.source import KernelFunction
from pykernels.kernel.shipping import shipped_kernel

# Replaces the kernel's folder in cached texts, since another folder may hold the same files.
_FOLDER = "<op folder>"


def compile_kernel(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    values: Mapping[str, Any],
    filename: str = linking.LOADABLE,
) -> tuple[Path, Facts, Signature]:
    """Return the machine code for a signature and the chosen processor, from the cache or newly compiled.

    Parameters
    ----------
    function, op_name, signature, output_names, shapes, values
        As for `build_kernel`.
    filename : str
        `linking.LOADABLE` or `linking.RELOCATABLE`.

    Returns
    -------
    path : Path
        A file of that name; it is empty if the kernel has to run as Python.
    facts : Facts
    signature : Signature
        The signature, specialized on the numbers that the kernel depends on.

    Raises
    ------
    KernelError, CacheError
        As `build_kernel`.
    BuildError
        There is no compiler, or it failed.
    """
    found = shipped_kernel(function, signature, values) if filename == linking.LOADABLE else None
    if found is not None:
        return found
    reasons = []
    for given in (signature.without_ranks(), signature):
        build = functools.partial(_write_fused, function)
        entry, specialized = _entry(function, given, values, filename, ("fused",), build)
        facts = Facts.from_json(entry.facts)
        if facts.form != NOT_FUSED:
            break
        reasons.append(facts.reason)
    if facts.form == FUSED:
        signature = specialized
    elif facts.form == NOT_FUSED:
        build = functools.partial(_compile, function, op_name, output_names, shapes)
        entry, signature = _entry(function, signature, values, filename, ("numba", *output_names), build)
        facts = Facts.from_json(entry.facts)
    reason = facts.reason if facts.form == PYTHON else "; ".join(dict.fromkeys(reasons))
    facts = dataclasses.replace(facts, reason=reason.replace(_FOLDER, str(function.path.parent)))
    return entry.path, facts, signature


def _reason(error: Exception, function: KernelFunction) -> str:
    """Return why a kernel does not have a form, in words that fit every folder with the same files."""
    return str(error).replace(str(function.path.parent), _FOLDER)


def _entry(
    function: KernelFunction,
    signature: Signature,
    values: Mapping[str, Any],
    filename: str,
    form: Sequence[str],
    write: Callable[[Signature, Path], Facts],
) -> tuple[cache.Entry, Signature]:
    """Return a form of a kernel, or why there is none, and the signature with the numbers that it depends on."""
    while True:
        key = kernel_key(function, signature, filename, *form)
        with progress.line(f"compiling {function.name} of {function.path.name} for {signature}"):
            entry = cache.build("kernels", key, filename, functools.partial(_to_json, write, signature))
        names = Facts.from_json(entry.facts).specialize_on
        if not names or not values.keys() >= set(names):
            return entry, signature
        signature = signature.specialize(names, values)


def _to_json(write: Callable[[Signature, Path], Facts], signature: Signature, path: Path) -> dict[str, Any]:
    return write(signature, path).to_json()


def _write_fused(function: KernelFunction, signature: Signature, path: Path) -> Facts:
    """Write the shared object, or an empty file for a kernel that is not fused."""
    from pykernels.kernel.expression import axes, fused, nodes

    def compiled(*, separates_views: bool) -> Facts:
        expression = fused.recognise(function, signature, separates_views=separates_views)
        toolchain.compiler()
        with linking.compiling(linking.FOR_FUSED[expression.is_elementwise]):
            from pykernels.kernel.emit import fused_code

            return fused_code.compile_kernel(expression, path, function.where, fast_math=function.fast_math)

    try:
        try:
            return compiled(separates_views=False)
        except axes.SharedAxes:
            return compiled(separates_views=True)
    except nodes.NotExpressible as refusal:
        path.write_bytes(b"")
        return Facts(NOT_FUSED, _reason(refusal, function), specialize_on=refusal.specialize_on)


def _compile(
    function: KernelFunction,
    op_name: str,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    signature: Signature,
    path: Path,
) -> Facts:
    """Write the shared object, or an empty file for a kernel that must run as Python, so that numba tries it once."""
    toolchain.compiler()  # fail before numba's work
    try:
        with _uncollected(), hooks.using_numba(), linking.compiling(linking.FOR_NUMBA):
            from pykernels.kernel.numba import compiler

            facts, is_widened = compiler.compile_kernel(function, signature, output_names, path)
    except hooks.Unspecialized:
        path.write_bytes(b"")
        return Facts(PYTHON, "it depends on attributes", specialize_on=tuple(sorted(signature.specializable)))
    except hooks.OtherRank as error:
        # The plain run decides whether the kernel is wrong, or its number of axes depends on lengths.
        _run_plain(function, op_name, signature, output_names, shapes)
        path.write_bytes(b"")
        return Facts(PYTHON, _reason(error, function))
    except hooks.NotNative as error:
        path.write_bytes(b"")
        return Facts(PYTHON, _reason(error, function))
    except KernelError as error:
        # The plain run reports the same mistake in NumPy's terms, if it can.
        _run_plain(function, op_name, signature, output_names, shapes)
        raise KernelError(f"op {op_name!r}: {error}") from error
    if is_widened:
        try:
            _run_plain(function, op_name, signature, output_names, shapes)
        except KernelError as error:
            # The kernel may raise an exception because of the trial's values, which no user has passed.
            if error.__cause__ is None:
                raise
    return facts


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Pause Python's garbage collector: numba creates many objects, and collection takes a tenth of its time."""
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
    """Run the kernel on ones by plain NumPy; raise `KernelError` if it fails or its results do not fit."""
    arrays = (np.ones(shape, tensor.dtype) for shape, tensor in zip(shapes, signature.tensors))
    args = group_shapes(signature.inputs, arrays)
    outs = group_shapes(signature.outputs, arrays)
    keywords: dict[str, Any] = dict(signature.constants)
    keywords.update((name, signature.example(name)) for name, _ in signature.scalars)
    reference.run(function, op_name, args, outs, output_names, keywords, signature.mutable)
