"""How a fused kernel is computed: stage after stage, each one pass over the elements of one shape.

The classes of axes get numbers, in the order in which they lie in memory. Some of them are cut into blocks: those
along which nothing is folded if there are such, so that whatever lies between two passes over a block stays in the
caches, else the first, whose reductions are complete when all blocks are done. Up to there is one phase; what needs
such a reduction is in the next. Within a phase a stage follows another, for each block in turn, where it needs a
reduction of that one. Whatever else an operation needs is computed anew rather than stored, but for costly functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from pykernels.kernel.expression.array_nodes import Reduction
from pykernels.kernel.expression.fused import Fused, Unfit
from pykernels.kernel.expression.nodes import Node, NotElementwise, Operation
from pykernels.kernel.plan.graph import Graph, within
from pykernels.kernel.plan.placing import place
from pykernels.kernel.plan.stages import COSTLY, Plan, Stage

__all__ = ["make_plan"]

# What is computed once for all elements that it is the same for.
_NOT_CHEAP = COSTLY | {"divide", "reciprocal", "sqrt"}


def make_plan(fused: Fused) -> Plan:
    """Plan a kernel.

    Raises
    ------
    Unfit
        Arrays have axes in different orders, or too many of them.
    """
    try:
        return _Planner(Graph(fused)).plan()
    except NotElementwise as reason:
        raise Unfit(str(reason)) from None


class _Planner:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = graph.nodes
        self._classes = graph.classes
        self._level: dict[Node, int] = {}
        self._kept: set[Node] = set()

    def _assign_levels(self) -> None:
        for node in self._nodes:
            operands = list(self._graph.operands(node))
            level = max((self._level[operand] for operand in operands), default=0)
            if isinstance(node, Reduction):
                level += 1
            else:
                for operand in operands:
                    if self._classes[operand] < self._classes[node] and self._is_costly(operand, _NOT_CHEAP):
                        self._kept.add(operand)
                        level = max(level, self._level[operand] + 1)
            self._level[node] = level

    def _is_costly(self, node: Node, names: frozenset[str]) -> bool:
        """Whether computing a node anew takes a function of these names."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Operation):
                if each.name in names:
                    return True
                waiting += [operand for operand in self._graph.operands(each) if operand not in self._kept]
        return False

    def _computed_at(self, root: Node) -> int:
        return self._level[root] - isinstance(root, Reduction)

    def _keep_costly(self) -> None:
        """Find what later stages would have to compute anew at some cost."""
        roots = [*self._graph.outputs, *self._kept, *(node for node in self._nodes if isinstance(node, Reduction))]
        seen = set()
        while roots:
            root = roots.pop()
            waiting = [within(root.operand)] if isinstance(root, Reduction) else [root]
            level = self._computed_at(root)
            while waiting:
                node = waiting.pop()
                if (node, level) in seen or not isinstance(node, Operation):
                    continue
                seen.add((node, level))
                if self._level[node] < level and node is not root:
                    if node in self._kept:
                        continue
                    if node.name in COSTLY:
                        self._kept.add(node)
                        roots.append(node)
                        continue
                waiting += self._graph.operands(node)

    def _choose_blocked(self, items: Sequence[Node]) -> tuple[int, ...]:
        domains = [self._graph.domain(item) for item in items]
        folded = frozenset[int]().union(*(self._graph.folded(item) for item in items if isinstance(item, Reduction)))
        largest = max(domains, key=len)
        free = [each for each in sorted(largest) if each not in folded]
        chosen: set[int] = set()
        for each in free or sorted(largest)[:1]:
            tried = chosen | {each}
            if all(tried <= domain or not tried & domain for domain in domains):
                chosen = tried
        return tuple(sorted(chosen))

    def plan(self) -> Plan:
        self._assign_levels()
        self._keep_costly()
        reductions = [node for node in self._nodes if isinstance(node, Reduction)]
        stored = list(dict.fromkeys([*(node for node in self._nodes if node in self._kept), *self._graph.outputs]))
        blocked = self._choose_blocked([*reductions, *stored])
        phase: dict[Node, int] = {}
        for node in self._nodes:
            phase[node] = max((phase[operand] for operand in self._graph.operands(node)), default=0)
            if isinstance(node, Reduction) and self._graph.folded(node) & set(blocked):
                phase[node] += 1
        stages: dict[tuple[int, bool, int, int, tuple[int, ...]], Stage] = {}

        def stage_of(node: Node, level: int) -> Stage:
            domain = tuple(sorted(self._classes[node]))
            in_block = bool(blocked) and set(blocked) <= set(domain)
            key = (phase[node], in_block, level, len(domain), domain)
            return stages.setdefault(key, Stage(phase[node], in_block, level, domain))

        made_in: dict[Node, Stage] = {}
        for node in reductions:
            made_in[node] = stage_of(within(node.operand), self._level[within(node.operand)])
            made_in[node].roots.append(node)
        # Sums that are results as they are can be handed over together, late.
        last = max((self._level[node] for node in stored), default=0)
        for node in stored:
            stage = stage_of(node, last if isinstance(node, Reduction) else self._level[node])
            stage.roots.append(node)
            if isinstance(node, Operation):
                made_in[node] = stage
        return place(self._graph, [stages[key] for key in sorted(stages)], made_in, blocked)
