"""Compare the adjoint of a block with finite differences, since a loop may overwrite what its gradient needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.adjoint.blocks import GRADIENT, Block
from pykernels.adjoint.nodes import Graph, Node
from pykernels.base.errors import KernelError

# The step of finite differences, and how far they may be off.
_STEP, _TOLERANCE = 1e-6, 1e-4


def verify(graph: Graph, node: Node, adjoint: Block, operands: Sequence[Node], slopes: Mapping[str, Node]) -> None:
    """Compare the adjoint of a block with finite differences. This raises `KernelError` where they differ."""
    assert node.block is not None
    block, rng = node.block, np.random.default_rng(0)
    forward, backward = block.compiled(graph.namespace), adjoint.compiled(graph.namespace)
    for sample in range(len(node.values)):
        known = {}
        for name, operand in zip(block.reads, node.operands):
            value = operand.values[sample]
            if operand.active:
                value = np.asarray(value, np.float64)
                value = value + 0.01 * np.abs(value) * rng.uniform(-1, 1, value.shape)
            known[name] = value
        left = dict(zip(block.leaves, forward(*known.values())))
        seeds = {name: rng.uniform(0.5, 1, np.shape(left[name])) for name in slopes}
        given: list[Any] = []
        for name, operand in zip(adjoint.reads, operands):
            own = name.removesuffix(GRADIENT)
            if name.endswith(GRADIENT):
                given.append(seeds[own] if own in seeds else np.asarray(operand.values[sample], np.float64))
            else:
                given.append(left.get(name, known.get(name)))
        found = dict(zip(adjoint.leaves, backward(*given)))
        slope, expected = 0.0, 0.0
        active = [name for name, operand in zip(block.reads, node.operands) if operand.active]
        ways = {name: rng.uniform(-1, 1, np.shape(known[name])) for name in active}
        for name, way in ways.items():
            gradient = found.get(f"{name}{GRADIENT}", seeds.get(name, 0.0))
            slope += float(np.sum(gradient * way))
        for sign in (1, -1):
            moved = {name: known[name] + sign * _STEP * ways[name] if name in ways else known[name] for name in known}
            results = dict(zip(block.leaves, forward(*moved.values())))
            expected += sign * sum(float(np.sum(seeds[name] * results[name])) for name in seeds) / (2 * _STEP)
        if np.isfinite([slope, expected]).all() and abs(slope - expected) > _TOLERANCE * max(1, abs(expected)):
            changed = ", ".join(sorted(block.changed)) or ", ".join(block.leaves)
            raise KernelError(
                f"from here on, values in {changed} that the gradient needs are overwritten: assign to other arrays"
            )
