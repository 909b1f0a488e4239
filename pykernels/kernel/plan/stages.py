"""Stages of a fused kernel: passes over the elements of one shape, with the arrays that they read and write."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pykernels.base.dtypes import real
from pykernels.kernel.expression.array_nodes import Extent, Reduction, operands_of
from pykernels.kernel.expression.nodes import Node, Operation, dtype_of, in_order
from pykernels.kernel.expression.operations import OPERATIONS, Cost
from pykernels.kernel.plan.graph import Graph, within


@dataclass(eq=False)
class Array:
    """An array in memory: a tensor, or an intermediate result."""

    #: The position of the tensor, or -1.
    tensor: int
    #: The dtype of its elements in memory.
    storage: np.dtype
    #: The classes along which it has elements.
    classes: frozenset[int]
    #: Whether it holds the elements of one block at a time.
    is_local: bool = False
    #: The view of another array that it is, or what it counts.
    view: Node | None = None
    #: The other array, if that is no tensor.
    base: Array | None = None


@dataclass(eq=False)
class Stage:
    """One pass."""

    phase: int
    in_block: bool
    level: int
    #: The classes over whose elements it iterates.
    domain: tuple[int, ...]
    roots: list[Node] = field(default_factory=list)
    reads: dict[Node, Array] = field(default_factory=dict)
    #: The nodes that it writes, element by element.
    stores: list[tuple[Node, Array]] = field(default_factory=list)
    #: The reductions that it accumulates.
    folds: list[tuple[Reduction, Array]] = field(default_factory=list)


@dataclass(eq=False)
class Plan:
    """A fused kernel as stages."""

    graph: Graph
    arrays: list[Array]
    stages: list[Stage]
    #: The classes that are cut into blocks.
    blocked: tuple[int, ...]
    #: For every class, the first of the adjacent classes that all arrays share with it.
    groups: tuple[int, ...]
    #: Whether the blocks are independent.
    in_pieces: bool


def arguments_of(stage: Stage) -> list[Array]:
    """Return the arrays that a stage takes, in order: those that it only reads, reads and writes, only writes."""
    written = written_by(stage)
    return list(dict.fromkeys([*sorted(stage.reads.values(), key=written.__contains__), *written]))


def written_by(stage: Stage) -> list[Array]:
    """Return the arrays that a stage writes, those first that it reads as well."""
    written = dict.fromkeys(array for _, array in (*stage.stores, *stage.folds))
    read = set(stage.reads.values())
    return sorted(written, key=lambda array: array not in read)


def is_copy(stage: Stage) -> bool:
    """Whether a stage stores what it reads and nothing else."""
    found = ((stage.reads.get(within(node)), array) for node, array in stage.stores)
    return not stage.folds and all(source and source.storage == array.storage for source, array in found)


def nodes_of(stage: Stage) -> list[Node]:
    """Return the nodes, numbers included, that a stage computes or reads, each after its operands."""
    roots = [*(node.operand for node, _ in stage.folds), *(node for node, _ in stage.stores)]
    return in_order(
        map(within, roots),
        lambda node: map(within, operands_of(node) if isinstance(node, Operation) and node not in stage.reads else ()),
    )


def extents_of(plan: Plan) -> list[Extent]:
    """Return the lengths that the stages compute with."""
    found = (node for stage in plan.stages for node in nodes_of(stage) if isinstance(node, Extent))
    return list(dict.fromkeys(found))


def widest(plan: Plan, stage: Stage) -> int:
    """Return the size in bytes of the widest numbers of a stage, at least that of float32."""
    dtypes = [
        node.dtype if isinstance(node, Operation) and node not in stage.reads else dtype_of(node)
        for node in nodes_of(stage)
        if node in plan.graph.classes
    ]
    return max(4, *(real(dtype).itemsize for dtype in dtypes))


def _operations_of(stage: Stage) -> list[Operation]:
    return [node for node in nodes_of(stage) if isinstance(node, Operation) and node not in stage.reads]


def is_plain(stage: Stage) -> bool:
    """Whether a stage folds values that are cheap to compute."""
    return bool(stage.folds) and not stage.stores and len(_operations_of(stage)) <= 4


def is_costly(stage: Stage) -> bool:
    """Whether a stage computes a costly function."""
    return any(OPERATIONS[node.name].cost is Cost.HIGH for node in _operations_of(stage))


def adds_rows(stage: Stage) -> bool:
    """Whether a stage does little more than add rows to each other."""
    return is_plain(stage) and bool(stage.domain) and all(stage.domain[-1] in array.classes for _, array in stage.folds)
