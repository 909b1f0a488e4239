"""Compile a kernel in the best form that it has: elementwise, fused, or by numba."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.build import cache, linking, toolchain
from pykernels.kernel import reference
from pykernels.kernel.facts import NOT_ELEMENTWISE, NOT_FUSED, PYTHON, Facts
from pykernels.kernel.keys import compiled_key, elementwise_key, fused_key
from pykernels.kernel.read.signature import Signature, group_shapes
from pykernels.kernel.read.source import KernelFunction
from pykernels.kernel.shipping import shipped_kernel

__all__ = ["compile_kernel"]

# Stands in the cache for the folder of a kernel, since another one may hold the same files.
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
    found = shipped_kernel(function, signature, values) if filename == linking.LOADABLE else None
    if found is not None:
        return found
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
            compiled_key(function, signature, filename, output_names),
            filename,
            lambda path: _compile(function, op_name, signature, output_names, shapes, path).to_json(),
        )
        facts = Facts.from_json(entry.facts)
    reason = facts.reason if facts.form == PYTHON else "; ".join(dict.fromkeys(reasons))
    facts = dataclasses.replace(facts, reason=reason.replace(_FOLDER, str(function.path.parent)))
    return entry.path, facts, signature


def _reason(error: Exception, function: KernelFunction) -> str:
    """Why a kernel does not have a form, for every folder with the same files."""
    return str(error).replace(str(function.path.parent), _FOLDER)


def _elementwise_entry(function: KernelFunction, signature: Signature, filename: str) -> cache.Entry:
    """The elementwise kernel for the dtypes of a signature, whatever its ranks; or why there is none."""
    signature = signature.without_ranks()
    key = elementwise_key(function, signature, filename)
    return cache.build("kernels", key, filename, lambda path: _compile_elementwise(function, signature, path).to_json())


def _compile_elementwise(function: KernelFunction, signature: Signature, path: Path) -> Facts:
    """Write the shared object, or an empty file for a kernel that is not elementwise."""
    from pykernels.kernel.expression import elementwise

    try:
        expression = elementwise.recognise(function, signature)
    except elementwise.NotElementwise as reason:
        path.write_bytes(b"")
        return Facts(NOT_ELEMENTWISE, _reason(reason, function))
    toolchain.compiler()  # before LLVM's work, which would be in vain
    from pykernels.kernel.emit import vector_code

    return vector_code.compile_kernel(expression, path, function.where, fast_math=function.fast_math)


def _fused_entry(
    function: KernelFunction, signature: Signature, values: Mapping[str, Any], filename: str
) -> tuple[cache.Entry, Signature]:
    """The fused kernel for a signature, and which numbers it has compiled in; or why there is none."""
    while True:
        key = fused_key(function, signature, filename)
        entry = cache.build("kernels", key, filename, functools.partial(_write_fused, function, signature))
        fixed = Facts.from_json(entry.facts).fixed
        if not set(fixed) & {name for name, _ in signature.scalars} or not values.keys() >= set(fixed):
            return entry, signature
        signature = signature.fix(fixed, values)


def _write_fused(function: KernelFunction, signature: Signature, path: Path) -> dict[str, Any]:
    """Write the shared object, or an empty file for a kernel that is not fused."""
    from pykernels.kernel.expression import fused

    try:
        expression = fused.recognise(function, signature)
        toolchain.compiler()
        from pykernels.kernel.emit import fused_code

        return fused_code.compile_kernel(expression, path, function.where, fast_math=function.fast_math).to_json()
    except fused.Unfit as reason:
        path.write_bytes(b"")
        return Facts(NOT_FUSED, _reason(reason, function), fixed=reason.names).to_json()


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
    from pykernels.kernel.numba import compiler

    try:
        with _uncollected():
            facts, is_widened = compiler.compile_kernel(function, signature, output_names, path)
    except compiler.NotNative as error:
        path.write_bytes(b"")
        return Facts(PYTHON, _reason(error, function))
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
