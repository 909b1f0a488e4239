"""How a fused kernel is computed: stage after stage, each one pass over the elements of one shape.

The classes of axes get numbers, in the order in which they lie in memory. Some of them are cut into blocks: those
along which nothing is folded if there are such, so that whatever lies between two passes over a block stays in the
caches, else the first, whose reductions are complete when all blocks are done. Up to there is one phase; what needs
such a reduction is in the next. Within a phase a stage follows another, for each block in turn, where it needs a
reduction of that one. Whatever else an operation needs is computed anew rather than stored, but for costly functions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pykernels.kernel.array_nodes import Counted, Reduction, Reshaped, Sliced, View, operands_of
from pykernels.kernel.axes import Shape
from pykernels.kernel.expression import Input, Node, NotElementwise, Operation, dtype_of
from pykernels.kernel.fused import Fused, Unfit

__all__ = ["Array", "Plan", "Stage", "make_plan", "within"]

#: As in fused.cpp.
MAX_CLASSES, MAX_ARRAYS, MAX_AXES, MAX_STEPS = 24, 64, 512, 64

# What is stored for later passes over elements, rather than computed anew.
_COSTLY = frozenset(
    (
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
        *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "cbrt", "hypot", "power"),
        *("erf", "erfc", "expit", "logaddexp", "fmod", "remainder", "floor_divide"),
    )
)
# What is computed once for all elements that it is the same for.
_NOT_CHEAP = _COSTLY | {"divide", "reciprocal", "sqrt"}


@dataclass(eq=False)
class Array:
    """Elements in memory: those of a tensor, or made on the way.

    Attributes
    ----------
    tensor : int
        Which tensor it is, or -1.
    storage : dtype
        Of its elements in memory.
    classes : frozenset of int
        Along which it has elements.
    is_local : bool
        It holds those of one block at a time.
    view : Node or None
        The reshaped tensor that it is, or what it counts.
    """

    tensor: int
    storage: np.dtype
    classes: frozenset[int]
    is_local: bool = False
    view: Node | None = None


@dataclass(eq=False)
class Stage:
    """One pass.

    Attributes
    ----------
    domain : tuple of int
        The classes whose elements it goes through.
    reads : dict of Node to Array
    stores : list of (Node, Array)
        What it writes, element by element.
    folds : list of (Reduction, Array)
        What it adds to.
    """

    phase: int
    in_block: bool
    level: int
    domain: tuple[int, ...]
    roots: list[Node] = field(default_factory=list)
    reads: dict[Node, Array] = field(default_factory=dict)
    stores: list[tuple[Node, Array]] = field(default_factory=list)
    folds: list[tuple[Reduction, Array]] = field(default_factory=list)


@dataclass(eq=False)
class Plan:
    """A fused kernel as stages.

    Attributes
    ----------
    fused : Fused
    numbers : dict of int to int
        Of every class of axes.
    blocked : tuple of int
        The classes that are cut into blocks.
    groups : tuple of int
        For every class the first of those beside it that all arrays have in common with it.
    in_pieces : bool
        Whether the blocks do not depend on each other.
    packed : tuple of bool
        For every output, whether its own axes are others than those of its elements.
    """

    fused: Fused
    numbers: dict[int, int]
    arrays: list[Array]
    stages: list[Stage]
    blocked: tuple[int, ...]
    groups: tuple[int, ...]
    in_pieces: bool
    packed: tuple[bool, ...]

    def classes(self, shape: Shape) -> tuple[int, ...]:
        """The classes of a shape, in order."""
        return tuple(self.numbers[each] for each in self.fused.axes.classes(shape))


def within(node: Node) -> Node:
    """What a view is of."""
    while isinstance(node, View):
        node = node.operand
    return node


def make_plan(fused: Fused) -> Plan:
    """Plan a kernel.

    Raises
    ------
    Unfit
        Arrays have axes in different orders, or too many of them.
    """
    try:
        return _Planner(fused).plan()
    except NotElementwise as reason:
        raise Unfit(str(reason)) from None


class _Planner:
    def __init__(self, fused: Fused) -> None:
        self._fused = fused
        self._axes = fused.axes
        # What is but reshaped to be returned lies in memory as it does before.
        self._results = [within(output) for output in fused.outputs]
        self._outputs = [
            within(output.operand) if isinstance(output, Reshaped) and not isinstance(output.operand, Input) else output
            for output in self._results
        ]
        self._nodes = [node for node in _reachable(self._outputs) if self._axes.has(node)]
        for output, result in zip(self._outputs, self._results):
            if output is not result and not self._is_full(output):
                raise Unfit("it reshapes what may be broadcast")
        for node in self._nodes:
            if isinstance(node, Reshaped) and not isinstance(within(node.operand), Input):
                raise Unfit("it computes with what it reshapes after computing it")
        self._numbers = self._order()
        self._classes = {node: frozenset(self._own(node)) for node in self._nodes}
        self._level: dict[Node, int] = {}
        self._kept: set[Node] = set()
        self._lent: set[Array] = set()

    def _own(self, node: Node) -> tuple[int, ...]:
        return tuple(self._numbers[each] for each in self._axes.classes(self._axes.shape_of(node)))

    def _order(self) -> dict[int, int]:
        """The numbers of classes: those of every node grow from its first axis to its last."""
        sequences = [self._axes.classes(self._axes.shape_of(node)) for node in self._nodes]
        after: dict[int, set[int]] = {each: set() for sequence in sequences for each in sequence}
        for sequence in sequences:
            for first, second in itertools.pairwise(sequence):
                after[second].add(first)
        numbers: dict[int, int] = {}
        while len(numbers) < len(after):
            ready = [each for each in after if each not in numbers and after[each] <= numbers.keys()]
            if not ready:
                raise Unfit("it has arrays with the same axes in different orders")
            # Axes that follow each other in an array stay neighbours.
            ready.sort(key=lambda each: not (after[each] & set(list(numbers)[-1:])))
            numbers[ready[0]] = len(numbers)
        if len(numbers) > MAX_CLASSES:
            raise Unfit(f"it has more than {MAX_CLASSES} axes")
        return numbers

    # ---- what is stored, and when it is computed

    def _domain(self, node: Node) -> frozenset[int]:
        """The classes of the pass that computes a reduction, or stores another node."""
        return self._classes[within(node.operand) if isinstance(node, Reduction) else node]

    def _folded(self, node: Reduction) -> frozenset[int]:
        return self._domain(node) - self._classes[node]

    def _operands(self, node: Node) -> Iterator[Node]:
        if isinstance(node, Reshaped):
            return iter(())
        return (within(operand) for operand in operands_of(node) if self._axes.has(operand))

    def _assign_levels(self) -> None:
        for node in self._nodes:
            operands = list(self._operands(node))
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
                waiting += [operand for operand in self._operands(each) if operand not in self._kept]
        return False

    def _computed_at(self, root: Node) -> int:
        return self._level[root] - isinstance(root, Reduction)

    def _keep_costly(self) -> None:
        """Find what later stages would have to compute anew at some cost."""
        roots = [*self._outputs, *self._kept, *(node for node in self._nodes if isinstance(node, Reduction))]
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
                    if node.name in _COSTLY:
                        self._kept.add(node)
                        roots.append(node)
                        continue
                waiting += self._operands(node)

    def _choose_blocked(self, items: Sequence[Node]) -> tuple[int, ...]:
        domains = [self._domain(item) for item in items]
        folded = frozenset[int]().union(*(self._folded(item) for item in items if isinstance(item, Reduction)))
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
        stored = list(dict.fromkeys([*(node for node in self._nodes if node in self._kept), *self._outputs]))
        blocked = self._choose_blocked([*reductions, *stored])
        phase: dict[Node, int] = {}
        for node in self._nodes:
            phase[node] = max((phase[operand] for operand in self._operands(node)), default=0)
            if isinstance(node, Reduction) and self._folded(node) & set(blocked):
                phase[node] += 1
        stages: dict[tuple[int, bool, int, int, tuple[int, ...]], Stage] = {}

        def stage_of(node: Node) -> Stage:
            domain = tuple(sorted(self._classes[node]))
            in_block = bool(blocked) and set(blocked) <= set(domain)
            key = (phase[node], in_block, self._level[node], len(domain), domain)
            return stages.setdefault(key, Stage(phase[node], in_block, self._level[node], domain))

        made_in: dict[Node, Stage] = {}
        for node in reductions:
            made_in[node] = stage_of(within(node.operand))
            made_in[node].roots.append(node)
        for node in stored:
            stage_of(node).roots.append(node)
            if isinstance(node, Operation):
                made_in[node] = stage_of(node)
        return self._with_arrays([stages[key] for key in sorted(stages)], made_in, blocked)

    # ---- where it is stored

    def _with_arrays(self, stages: list[Stage], made_in: dict[Node, Stage], blocked: tuple[int, ...]) -> Plan:
        fused = self._fused
        arrays = [Array(at, dtype, self._classes_of_tensor(at)) for at, dtype in enumerate(fused.dtypes)]
        views: dict[Node, Array] = {}
        for node in self._nodes:
            if isinstance(node, (Reshaped, Sliced)):
                source = within(node.operand)
                assert isinstance(source, Input)  # or it was refused above
                views[node] = Array(source.position, dtype_of(node), self._classes[node], view=node)
            elif isinstance(node, Counted):
                views[node] = Array(-1, dtype_of(node), self._classes[node], view=node)
        arrays += sorted(views.values(), key=lambda array: isinstance(array.view, Counted))
        targets: dict[Node, list[Array]] = {}
        for at, output in enumerate(self._outputs):
            targets.setdefault(output, []).append(arrays[fused.n_inputs + at])
        held: dict[Node, Array] = {}
        readers: dict[Node, list[Stage]] = {}
        for stage in stages:
            for node in self._needed(stage, made_in, blocked):
                readers.setdefault(node, []).append(stage)
        for node, stage in made_in.items():
            if not isinstance(node, Reduction) and (node in targets or node not in readers):
                continue
            users = readers.get(node, [])
            array = self._borrowed(node, users, stages, targets, made_in) or Array(
                -1, _storage(node), self._classes[node]
            )
            if array.tensor < 0:
                array.is_local = bool(blocked) and set(blocked) <= array.classes
                array.is_local &= all(user.phase == stage.phase and user.in_block for user in users)
                arrays.append(array)
            held[node] = array
        for stage in stages:
            for node in self._needed(stage, made_in, blocked):
                if isinstance(node, Input):
                    stage.reads[node] = arrays[node.position]
                elif node in views:
                    stage.reads[node] = views[node]
                else:
                    stage.reads[node] = held[node] if node in held else targets[node][0]
            for root in stage.roots:
                if isinstance(root, Reduction) and made_in[root] is stage:
                    stage.folds.append((root, held[root]))
                else:
                    stage.stores += [(root, array) for array in targets.get(root, [])]
                    if root in held and not isinstance(root, Reduction):
                        stage.stores.append((root, held[root]))
        if len(arrays) > MAX_ARRAYS:
            raise Unfit(f"it needs more than {MAX_ARRAYS} arrays")
        if self._axes.n_positions > MAX_AXES or any(len(steps) > MAX_STEPS for steps in self._axes.lengths):
            raise Unfit("it reshapes too much")
        outer = [array for stage in stages if not stage.in_block for _, array in stage.stores]
        in_pieces = bool(blocked) and not any(stage.phase for stage in stages)
        in_pieces &= not any(array.tensor >= 0 for array in outer)
        packed = tuple(output is not result for output, result in zip(self._outputs, self._results))
        groups = self._groups(arrays, stages, blocked)
        return Plan(fused, self._numbers, arrays, stages, blocked, groups, in_pieces, packed)

    def _classes_of_tensor(self, at: int) -> frozenset[int]:
        output = at - self._fused.n_inputs
        if output >= 0:
            return self._classes[self._outputs[output]]
        found = (self._axes.class_of(next(iter(axis))) for axis in self._fused.tensors[at])
        return frozenset(self._numbers[each] for each in found if each in self._numbers)

    def _needed(self, stage: Stage, made_in: dict[Node, Stage], blocked: tuple[int, ...]) -> list[Node]:
        """What a stage reads from memory."""
        found: dict[Node, None] = {}
        waiting = [
            within(root.operand) if isinstance(root, Reduction) and made_in[root] is stage else root
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
            maker = made_in.get(node)
            if node not in roots and maker is not None and _is_before(maker, stage):
                found[node] = None
                continue
            waiting += self._operands(node)
        return sorted(found, key=lambda node: node.order)

    def _borrowed(
        self,
        node: Node,
        users: list[Stage],
        stages: list[Stage],
        targets: dict[Node, list[Array]],
        made_in: dict[Node, Stage],
    ) -> Array | None:
        """An output whose memory can hold a node until it is overwritten with the result."""
        if isinstance(node, Reduction):
            return None
        for output, (array, *_) in targets.items():
            maker = made_in.get(output)
            if maker is None or array in self._lent or array.storage != _storage(node) or not self._is_full(output):
                continue
            if self._classes[output] == self._classes[node] and all(
                stages.index(user) <= stages.index(maker) for user in users
            ):
                self._lent.add(array)
                return array
        return None

    def _is_full(self, node: Node) -> bool:
        """Whether a node has all the elements along its classes, whichever tensors are broadcast."""
        members = Counter(map(self._axes.class_of, range(self._axes.n_positions)))
        return all(
            len(axis) == members[self._axes.class_of(next(iter(axis)))] for axis in self._axes.shape_of(node) if axis
        )

    def _groups(self, arrays: Iterable[Array], stages: Iterable[Stage], blocked: tuple[int, ...]) -> tuple[int, ...]:
        sets = [frozenset(blocked), *(array.classes for array in arrays), *(frozenset(s.domain) for s in stages)]
        groups: list[int] = []
        for each in range(len(self._numbers)):
            joined = each > 0 and all((each in found) == (each - 1 in found) for found in sets)
            groups.append(groups[-1] if joined else each)
        return tuple(groups)


def _is_before(maker: Stage, stage: Stage) -> bool:
    return (maker.phase, maker.level) < (stage.phase, stage.level)


def _storage(node: Node) -> np.dtype:
    """The dtype in which a node is kept: sums in float64, so that those of many parts are as good as those of few."""
    dtype = dtype_of(node)
    if dtype.kind == "f" and isinstance(node, Reduction) and node.name == "add":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _reachable(outputs: Iterable[Node]) -> list[Node]:
    """Every node that the outputs need but views, each after its operands."""
    found: dict[int, Node] = {}
    waiting = list(outputs)
    while waiting:
        node = within(waiting.pop())
        if node.order not in found:
            found[node.order] = node
            # A reshaped input is one by itself.
            waiting += () if isinstance(node, Reshaped) else operands_of(node)
    return [found[order] for order in sorted(found)]
