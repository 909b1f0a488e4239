"""Compare the adjoint of a block with finite differences, since a loop may overwrite what its gradient needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.adjoint.blocks import Block
from pykernels.adjoint.nodes import Graph, Node
from pykernels.adjoint.terms import GRADIENT
from pykernels.base.errors import KernelError

# The step of finite differences, and how far they may be off.
_STEP, _TOLERANCE = 1e-6, 1e-4
# How far samples are moved, as a share of each number, so that they do not lie at kinks, and whether whole numbers have
# finite differences: the first of these that a block accepts, since it may take numbers as indices.
_MOVES = ((0.01, True), (0.0, True), (0.01, False), (0.0, False))


def verify(graph: Graph, node: Node, adjoint: Block, operands: Sequence[Node], slopes: Mapping[str, Node]) -> None:
    """Compare the adjoint of a block with finite differences.

    This raises `KernelError` where they differ, or if the block accepts no numbers beside those of the samples.
    """
    assert node.block is not None
    block = node.block
    forward, backward = block.compiled(graph.namespace), adjoint.compiled(graph.namespace)
    is_compared = False
    for sample in range(len(node.values)):
        for move, moves_whole in _MOVES:
            with contextlib.suppress(Exception):
                slope, expected = _slopes(node, adjoint, operands, slopes, forward, backward, sample, move, moves_whole)
                is_compared = True
                break
        else:
            continue
        if np.isfinite([slope, expected]).all() and abs(slope - expected) > _TOLERANCE * max(1, abs(expected)):
            changed = ", ".join(sorted(block.changed)) or ", ".join(block.leaves)
            raise KernelError(
                f"from here on, values in {changed} that the gradient needs are overwritten: assign to other arrays"
            )
    if not is_compared:
        raise KernelError(
            f"from here on, the gradient of {', '.join(block.leaves)} cannot be compared with finite differences, "
            "because the function refuses numbers that differ a little from those of the samples: write it by hand"
        )


def _slopes(
    node: Node,
    adjoint: Block,
    operands: Sequence[Node],
    slopes: Mapping[str, Node],
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    sample: int,
    move: float,
    moves_whole: bool,
) -> tuple[float, float]:
    """Return the slope of a sum of all results in one direction: by the adjoint, and by finite differences."""
    assert node.block is not None
    block, rng = node.block, np.random.default_rng(0)
    known, ways = {}, {}
    for name, operand in zip(block.reads, node.operands):
        value = operand.values[sample]
        if operand.active:
            value = np.asarray(value, np.float64)
            is_moved = moves_whole | (value != np.round(value))
            value = value + is_moved * move * np.abs(value) * rng.uniform(-1, 1, value.shape)
            ways[name] = is_moved * rng.uniform(-1, 1, value.shape)
        known[name] = value
    left = dict(zip(block.leaves, forward(*known.values())))
    # Elements without a gradient may be too large for finite differences.
    seeds = {name: rng.uniform(0.5, 1, np.shape(left[name])) for name in slopes}
    if any(np.any(slope.values[sample]) for slope in slopes.values()):
        seeds = {name: np.where(slopes[name].values[sample] == 0, 0.0, seed)[()] for name, seed in seeds.items()}
    given: list[Any] = []
    for name, operand in zip(adjoint.reads, operands):
        own = name.removesuffix(GRADIENT)
        if name.endswith(GRADIENT):
            given.append(seeds[own] if own in seeds else np.asarray(operand.values[sample], np.float64)[()])
        else:
            given.append(left.get(name, known.get(name)))
    found = dict(zip(adjoint.leaves, backward(*given)))
    slope = 0.0
    for name, way in ways.items():
        slope += float(np.sum(found.get(f"{name}{GRADIENT}", seeds.get(name, 0.0)) * way))
    ends = []
    for sign in (1, -1):
        moved = {name: known[name] + sign * _STEP * ways[name] if name in ways else known[name] for name in known}
        ends.append(dict(zip(block.leaves, forward(*moved.values()))))
    # One by one: what does not move may be large, or infinite.
    moves = (np.where(ends[0][name] == ends[1][name], 0, ends[0][name] - ends[1][name]) for name in seeds)
    expected = sum(float(np.sum(seed * way)) for seed, way in zip(seeds.values(), moves)) / (2 * _STEP)
    return slope, expected
