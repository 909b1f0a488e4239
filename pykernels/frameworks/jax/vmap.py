"""Batch an op for ``jax.vmap``: in one call if the op allows it, otherwise in one call for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from pykernels.base.abi import KernelFlag
from pykernels.base.errors import PykernelsError
from pykernels.define.instance import make_instance
from pykernels.frameworks.jax import table
from pykernels.frameworks.jax.distribution import splits
from pykernels.frameworks.jax.use import Use, array_type
from pykernels.kernel import service


def batch(
    call: Callable[[Use, Sequence[Any]], list[Any]], args: Sequence[Any], dims: Sequence[Any], *, use: Use
) -> tuple[list[Any], list[int]]:
    """Return the results for a batch and the axes of the batch, as a rule of JAX's does.

    Parameters
    ----------
    call : callable
        Calls an op on its inputs.
    args, dims : sequence
        The inputs, and the axis of each along which the batch lies; an input without one is the same for all.
    use : Use
    """
    is_mapped = [dim is not None for dim in dims]
    arrays = [jnp.moveaxis(x, dim, 0) if dim is not None else x for x, dim in zip(args, dims)]
    size = next(x.shape[0] for x, mapped in zip(arrays, is_mapped) if mapped)
    shapes = [x.shape if mapped else (size, *x.shape) for x, mapped in zip(arrays, is_mapped)]
    if is_elementwise(use, [jax.ShapeDtypeStruct(shape, x.dtype) for shape, x in zip(shapes, arrays)]):
        results = call(use, [jnp.broadcast_to(x, shape) for shape, x in zip(shapes, arrays)])
    else:
        results = _merged(call, use, arrays, is_mapped, size) or _in_turn(call, use, arrays, is_mapped)
    return results, [0] * len(results)


def is_elementwise(use: Use, arrays: Sequence[Any]) -> bool:
    """Whether every element of the results depends on the elements at its place alone."""
    entry = table.find(use.op_type)
    shapes = {tuple(array.shape) for array in arrays}
    # Otherwise the inputs broadcast.
    if len(shapes) != 1 or use.states:
        return False
    try:
        inputs, outputs = use.specs(arrays), use.infer(arrays)
        if {spec.shape for group in outputs for spec in group} != shapes:
            return False
        kernel = service.resolve(entry.kernel_id, make_instance(entry.op, inputs, outputs, use.values))
    except PykernelsError:
        return False
    return bool(kernel.struct.flags & KernelFlag.ELEMENTWISE)


def _merged(
    call: Callable[[Use, Sequence[Any]], list[Any]],
    use: Use,
    arrays: Sequence[Any],
    is_mapped: Sequence[bool],
    size: int,
) -> list[Any] | None:
    """Return the results of one call in which the batch is part of an axis that the op may be split along."""
    single = [jax.ShapeDtypeStruct(x.shape[mapped:], x.dtype) for x, mapped in zip(arrays, is_mapped)]
    for inputs, outputs in splits(use, single):
        axes = [axis for axis in outputs if axis is not None]
        if [axis is not None for axis in inputs] != list(is_mapped) or len(axes) < len(outputs):
            continue
        merged = [x if axis is None else _merge(x, axis) for x, axis in zip(arrays, inputs)]
        wanted = [array_type(spec).shape for group in use.infer(single) for spec in group]
        found = [array_type(spec).shape for group in use.infer(merged) for spec in group]
        if found == [(*shape[:axis], size * shape[axis], *shape[axis + 1 :]) for shape, axis in zip(wanted, axes)]:
            results = call(use, merged)
            return [_part(y, axis, size, shape) for y, axis, shape in zip(results, axes, wanted)]
    return None


def _merge(batched: Any, axis: int) -> Any:
    """Make the first axis part of another, `axis` of each element."""
    moved = jnp.moveaxis(batched, 0, axis)
    size, length = moved.shape[axis : axis + 2]
    return moved.reshape(*moved.shape[:axis], size * length, *moved.shape[axis + 2 :])


def _part(merged: Any, axis: int, size: int, shape: Sequence[int]) -> Any:
    """Undo `_merge` for elements of this shape."""
    return jnp.moveaxis(merged.reshape(*shape[:axis], size, *shape[axis:]), axis, 0)


def _in_turn(
    call: Callable[[Use, Sequence[Any]], list[Any]], use: Use, arrays: Sequence[Any], is_mapped: Sequence[bool]
) -> list[Any]:
    def one(mapped: list[Any]) -> list[Any]:
        rest = iter(mapped)
        return call(use, [next(rest) if is_batched else x for x, is_batched in zip(arrays, is_mapped)])

    return list(jax.lax.map(one, [x for x, mapped in zip(arrays, is_mapped) if mapped]))
