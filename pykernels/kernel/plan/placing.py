"""Choose memory for the results of stages: outputs, arrays of one block, or whole arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pykernels.base.dtypes import computed_in
from pykernels.kernel.expression.array_nodes import Counted, Reduction, Reshaped, Scattered, Sliced, Start
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, dtype_of
from pykernels.kernel.plan.graph import Graph, memory_of, within
from pykernels.kernel.plan.stages import Array, Plan, Stage, arguments_of

#: As in fused/tables.h.
MAX_ARRAYS = 64


class Placer:
    """Assigns arrays to every stage.

    Parameters
    ----------
    stages : list of Stage
        In the order in which they run.
    made_in : dict of Node to Stage
        The stage that computes each stored node; other nodes are recomputed where they are needed.
    blocked : tuple of int
        The classes that are cut into blocks.
    """

    def __init__(self, graph: Graph, stages: list[Stage], made_in: dict[Node, Stage], blocked: tuple[int, ...]) -> None:
        self._graph = graph
        self._stages = stages
        self._made_in = made_in
        self._blocked = blocked
        signature = graph.fused.signature
        self._arrays = [Array(at, t.dtype, self._classes_of_tensor(at)) for at, t in enumerate(signature.tensors)]
        self._views = self._find_views()
        self._starts = {
            node: Array(-1, dtype_of(node), frozenset(), view=Start(node.sample, operand=node))
            for node in graph.nodes
            if isinstance(node, Scattered)
        }
        self._targets: dict[Node, list[Array]] = {}
        for output, (at, place) in zip(graph.outputs, graph.targets):
            array = self._arrays[signature.n_inputs + at]
            if place is not None:
                array = Array(array.tensor, array.storage, graph.classes[output], view=place)
                self._arrays.append(array)
            self._targets.setdefault(output, []).append(array)
        views = [*self._starts.values(), *self._views.values()]
        self._arrays += sorted(views, key=lambda array: isinstance(array.view, Counted))
        self._held: dict[Node, Array] = {}
        self._lent: set[Array] = set()

    def _find_views(self) -> dict[Node, Array]:
        views: dict[Node, Array] = {}
        for node in self._graph.nodes:
            memory = memory_of(node)
            if isinstance(memory, Input):
                storage = self._arrays[memory.position].storage
                views[node] = Array(memory.position, storage, self._graph.classes[node], view=node)
            elif memory is not None or isinstance(node, Counted):
                views[node] = Array(-1, dtype_of(node), self._graph.classes[node], view=node)
        return views

    def place(self) -> Plan:
        """Return the plan; raise `NotExpressible` if the kernel needs too many arrays."""
        self._hold()
        for stage in self._stages:
            self._connect(stage)
        if len(self._arrays) > MAX_ARRAYS:
            raise NotExpressible(f"it needs more than {MAX_ARRAYS} arrays")
        outer = [array for stage in self._stages if not stage.in_block for _, array in stage.stores]
        in_pieces = bool(self._blocked) and not any(stage.phase for stage in self._stages)
        in_pieces &= not any(array.tensor >= 0 for array in outer)
        return Plan(self._graph, self._arrays, self._stages, self._blocked, self._groups(), in_pieces)

    def _hold(self) -> None:
        """Find memory for intermediate results."""
        readers: dict[Node, list[Stage]] = {}
        viewed: dict[Array, Node] = {}
        for stage in self._stages:
            for node in self._needed(stage):
                readers.setdefault(node, []).append(stage)
                memory = memory_of(node)
                if memory is not None and not isinstance(memory, Input):
                    viewed[self._views[node]] = memory
                    readers.setdefault(memory, []).append(stage)
        for node, stage in self._made_in.items():
            if not isinstance(node, Reduction) and (self._whole_target(node) or node not in readers):
                continue
            users = readers.get(node, [])
            is_viewed = node in viewed.values() or node in self._starts
            lent = None if is_viewed else self._borrowed(node, users)
            array = lent or Array(-1, _storage(node), self._graph.classes[node])
            if array.tensor < 0:
                array.is_local = bool(self._blocked) and set(self._blocked) <= array.classes and not is_viewed
                array.is_local &= all(user.phase == stage.phase and user.in_block for user in users)
                self._arrays.append(array)
            self._held[node] = array
        viewed |= {start: node for node, start in self._starts.items()}
        for view, node in viewed.items():
            base = self._held.get(node) or self._whole_target(node)
            assert base is not None
            view.tensor, view.storage, view.base = base.tensor, base.storage, base

    def _connect(self, stage: Stage) -> None:
        for node in self._needed(stage):
            if isinstance(node, Input):
                stage.reads[node] = self._arrays[node.position]
            else:
                found = self._views.get(node) or self._held.get(node)
                found = found or self._whole_target(node)
                assert found is not None
                stage.reads[node] = found
        for root in stage.roots:
            if isinstance(root, Reduction) and self._made_in[root] is stage:
                stage.folds.append((root, self._starts[root] if isinstance(root, Scattered) else self._held[root]))
            else:
                stage.stores += [(root, array) for array in self._targets.get(root, [])]
                if root in self._held and not isinstance(root, Reduction):
                    stage.stores.append((root, self._held[root]))

    def _whole_target(self, node: Node) -> Array | None:
        """Return an output that holds a node, not rounded, and nothing else."""
        targets = (array for array in self._targets.get(node, []) if array.view is None)
        return next((array for array in targets if array.storage == dtype_of(node)), None)

    def _classes_of_tensor(self, at: int) -> frozenset[int]:
        output = at - self._graph.fused.signature.n_inputs
        if output >= 0:
            if self._graph.joined[output]:
                return frozenset()
            return self._graph.classes[self._graph.outputs[self._graph.targets.index((output, None))]]
        axes = (self._graph.axes.class_of(next(iter(axis))) for axis in self._graph.fused.tensors[at])
        return frozenset(self._graph.numbers[each] for each in axes if each in self._graph.numbers)

    def _needed(self, stage: Stage) -> list[Node]:
        """Find what a stage reads from memory."""
        found: dict[Node, None] = {}
        waiting = [
            within(root.operand) if isinstance(root, Reduction) and self._made_in[root] is stage else root
            for root in stage.roots
        ]
        seen = set()
        roots = set(waiting)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, (Counted, Input, Reduction, Reshaped, Sliced)):
                found[node] = None
                continue
            maker = self._made_in.get(node)
            if node not in roots and maker is not None and _is_before(maker, stage):
                found[node] = None
                continue
            waiting += self._graph.operands(node)
        return sorted(found, key=lambda node: node.order)

    def _borrowed(self, node: Node, users: Sequence[Stage]) -> Array | None:
        """Return an output whose memory can hold a node until the result overwrites it."""
        if isinstance(node, Reduction):
            return None
        for output, (array, *_) in self._targets.items():
            maker = self._made_in.get(output)
            if (
                maker is None
                or array.view is not None
                or array in self._lent
                or array.storage != _storage(node)
                or not self._graph.is_full(output)
            ):
                continue
            if self._graph.classes[output] == self._graph.classes[node] and all(
                self._stages.index(user) <= self._stages.index(maker) for user in users
            ):
                self._lent.add(array)
                return array
        return None

    def _groups(self) -> tuple[int, ...]:
        used = dict.fromkeys(array for stage in self._stages for array in arguments_of(stage))
        sets = [frozenset(self._blocked), *(array.classes for array in used)]
        sets += [frozenset(stage.domain) for stage in self._stages]
        groups: list[int] = []
        for each in range(len(self._graph.numbers)):
            joined = each > 0 and all((each in found) == (each - 1 in found) for found in sets)
            groups.append(groups[-1] if joined else each)
        return tuple(groups)


def _is_before(maker: Stage, stage: Stage) -> bool:
    return (maker.phase, maker.level) < (stage.phase, stage.level)


def _storage(node: Node) -> np.dtype:
    """Return the dtype that stores a node: float64 for sums, so that the number of parts does not affect accuracy."""
    dtype = dtype_of(node)
    if dtype.kind == "f" and isinstance(node, Reduction) and node.name == "add" and not isinstance(node, Scattered):
        return np.dtype(np.float64)
    return computed_in(dtype)
