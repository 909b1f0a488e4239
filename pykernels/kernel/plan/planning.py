"""Plan a fused kernel as stages, each a pass over the elements of one shape.

The classes of axes get numbers, in the order in which they lie in memory. The plan cuts some of them into blocks. It
prefers classes along which nothing is folded: intermediate results of a block then stay in the caches. Otherwise it
cuts the first class, whose reductions are complete when all blocks are done. That ends a phase; operations that need
such a reduction belong to the next phase, as do those that read a computed array with other axes. Within a phase, a
stage that needs a reduction follows the stage that computes it, block by block. Other intermediate results are
recomputed, not stored, unless they call costly functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from pykernels.kernel.expression.array_nodes import Reduction
from pykernels.kernel.expression.fused import Fused
from pykernels.kernel.expression.nodes import Node, Operation
from pykernels.kernel.expression.operations import OPERATIONS, Cost
from pykernels.kernel.plan.graph import Graph, memory_of, within
from pykernels.kernel.plan.placing import Placer
from pykernels.kernel.plan.stages import Plan, Stage


class Planner:
    """Plans a kernel; raises the errors of `Graph`."""

    def __init__(self, fused: Fused) -> None:
        self._graph = Graph(fused)
        self._nodes = self._graph.nodes
        self._classes = self._graph.classes
        self._level: dict[Node, int] = {}
        self._kept: set[Node] = set()

    def _assign_levels(self) -> None:
        for node in self._nodes:
            operands = list(self._graph.operands(node))
            level = max((self._level[operand] for operand in operands), default=0)
            if isinstance(node, Reduction):
                level += 1
            elif memory_of(node) is not None:
                for operand in operands:
                    level += 1
                    if not isinstance(operand, Reduction):
                        self._kept.add(operand)
            else:
                for operand in operands:
                    if self._classes[operand] < self._classes[node] and not self._is_cheap(operand):
                        self._kept.add(operand)
                        level = max(level, self._level[operand] + 1)
            self._level[node] = level

    def _is_cheap(self, node: Node) -> bool:
        """Whether recomputing a node only takes operations of low cost."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Operation):
                if OPERATIONS[each.name].cost is not Cost.LOW:
                    return False
                waiting += [operand for operand in self._graph.operands(each) if operand not in self._kept]
        return True

    def _computed_at(self, root: Node) -> int:
        return self._level[root] - isinstance(root, Reduction)

    def _keep_costly(self) -> None:
        """Find the nodes that are costly for later stages to recompute."""
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
                    if OPERATIONS[node.name].cost is Cost.HIGH:
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
        """Return the plan; raise `NotExpressible` if the kernel needs too many arrays."""
        self._assign_levels()
        self._keep_costly()
        reductions = [node for node in self._nodes if isinstance(node, Reduction)]
        stored = list(dict.fromkeys([*(node for node in self._nodes if node in self._kept), *self._graph.outputs]))
        blocked = self._choose_blocked([*reductions, *stored])
        phase: dict[Node, int] = {}
        for node in self._nodes:
            phase[node] = max((phase[operand] for operand in self._graph.operands(node)), default=0)
            if isinstance(node, Reduction):
                phase[node] += bool(self._graph.folded(node) & set(blocked))
            elif memory_of(node) is not None:
                phase[node] += any(True for _ in self._graph.operands(node))
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
        # Sums that are outputs themselves can be computed together, late.
        last = max((self._level[node] for node in stored), default=0)
        for node in stored:
            stage = stage_of(node, last if isinstance(node, Reduction) else self._level[node])
            stage.roots.append(node)
            if isinstance(node, Operation) or node in self._kept:
                made_in[node] = stage
        return Placer(self._graph, [stages[key] for key in sorted(stages)], made_in, blocked).place()
