"""Run a kernel's NumPy function on JAX's arrays, for devices that we do not compile for, and for XLA to fuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from pykernels.base.dtypes import computed_in
from pykernels.base.errors import PykernelsError
from pykernels.define.definition import OpDef
from pykernels.frameworks import substitution
from pykernels.frameworks.jax import table
from pykernels.frameworks.jax.arrays import Array, Functions, plain
from pykernels.frameworks.jax.use import Use, array_type, spec_of
from pykernels.kernel.read.source import KernelFunction


def run(use: Use, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs for arrays or tracers, then the new states, before they are cast to their dtypes.

    Raises
    ------
    KernelError
        The kernel cannot be traced, or its results do not have the shapes of the definition.
    """
    kernel = table.find(use.op_type).kernel
    return _trace(use.op, kernel, use.inputs(arrays), use.values, use.output_counts, is_train=bool(use.is_train))


def why_not(op: OpDef, kernel: KernelFunction, inputs: Sequence[Sequence[Any]], attributes: Mapping[str, Any]) -> str:
    """Return why a kernel cannot be traced for a call with these arrays; "" if it can."""
    counts = [argument.count for argument in op.outputs]
    try:
        jax.eval_shape(lambda *groups: _trace(op, kernel, groups, attributes, counts, is_train=False), *inputs)
    except PykernelsError as error:
        return str(error)
    return ""


def _trace(
    op: OpDef,
    kernel: KernelFunction,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
    *,
    is_train: bool,
) -> list[Any]:
    # As on the CPU, kernels compute in float32 on the elements of smaller types.
    wide = [[array.astype(computed_in(array.dtype)) for array in group] for group in inputs]
    given = [[spec_of(array, op.name) for array in group] for group in inputs]
    groups = op.infer(given, attributes, counts=counts)
    args = [list(map(Array, group)) for group in wide]
    outs = [[Array(jnp.zeros(spec.shape, computed_in(array_type(spec).dtype))) for spec in group] for group in groups]
    shapes = [spec.shape for group in groups for spec in group]
    results = substitution.run(kernel, op, _NUMPY, args, outs, attributes, is_train=is_train, shapes=shapes)
    states = []
    for argument, before, after in zip(op.inputs, wide, args):
        if argument.mutable:
            states += [array.value for array in after]
        elif any(array.value is not value for array, value in zip(after, before)):
            raise substitution.writes_to_input(kernel, op, argument)
    return [*results, *states]


_NUMPY = substitution.Numpy("JAX", Functions(), array=lambda value: jnp.asarray(plain(value)))
