"""Partition ops over devices where ``jax.jit`` runs a program on several."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from pykernels.frameworks.jax.distribution import Axes, splits
from pykernels.frameworks.jax.use import Use

#: For each array and each of its axes, the name of a factor.
_Factors = list[list[str]]


def partitioned(use: Use, arrays: Sequence[Any], run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a function that runs an op on its inputs, each device with its part of them where the op can be split.

    Parameters
    ----------
    use : Use
    arrays : sequence
        The inputs, or what has their shapes and dtypes.
    run : callable
        Takes the use and the inputs.
    """
    ways = splits(use, arrays)
    if not ways:
        return lambda *given: run(use, *given)
    shapes = [spec.shape for group in use.infer(arrays) for spec in group]
    inputs, outputs, shared = _factors(ways, [tuple(array.shape) for array in arrays], shapes)

    def partition(mesh: Any, given: Sequence[Any], _: Any) -> Any:
        axes = _mesh_axes(inputs, shared, given)
        placed = [
            [NamedSharding(mesh, PartitionSpec(*(axes.get(factor) for factor in each))) for each in side]
            for side in (inputs, outputs)
        ]
        return mesh, lambda *parts: run(use, *parts), placed[1], tuple(placed[0])

    function: Any = custom_partitioning(lambda *given: run(use, *given))
    unsplit = sorted({factor for each in (*inputs, *outputs) for factor in each} - shared)
    function.def_partition(
        partition,
        infer_sharding_from_operands=lambda mesh, given, _: partition(mesh, given, _)[2],
        sharding_rule=f"{_written(inputs)} -> {_written(outputs)}",
        need_replication_factors=tuple(unsplit),
    )
    run_partitioned: Callable[..., list[Any]] = function
    return run_partitioned


def _factors(
    ways: Sequence[tuple[Axes, Axes]], input_shapes: Sequence[Any], output_shapes: Sequence[Any]
) -> tuple[_Factors, _Factors, set[str]]:
    """Name the factors: axes that are split together have the same, which is among the shared ones."""
    names = (f"{letter}{number}" for number in range(10**6) for letter in string.ascii_lowercase)
    named = [[[""] * len(shape) for shape in shapes] for shapes in (input_shapes, output_shapes)]
    shared = set()
    for way in ways:
        places = [(side, at, axis) for side, axes in enumerate(way) for at, axis in enumerate(axes) if axis is not None]
        if any(named[side][at][axis] for side, at, axis in places):
            continue  # an axis of an earlier way
        factor = next(names)
        shared.add(factor)
        for side, at, axis in places:
            named[side][at][axis] = factor
    inputs, outputs = [[[factor or next(names) for factor in each] for each in side] for side in named]
    return inputs, outputs, shared


def _mesh_axes(inputs: _Factors, shared: set[str], given: Sequence[Any]) -> dict[str, Any]:
    """Return the axes of the mesh along which each shared factor is split, as the first input that has it is."""
    axes: dict[str, Any] = {}
    used: set[Any] = set()
    for factors, array in zip(inputs, given):
        spec = getattr(array.sharding, "spec", ())
        for factor, split in zip(factors, spec):
            names = {split} if isinstance(split, str) else set(split or ())
            if factor in shared and factor not in axes and names and not names & used:
                axes[factor] = split
                used |= names
    return axes


def _written(arrays: _Factors) -> str:
    return ", ".join(" ".join(factors) for factors in arrays)
