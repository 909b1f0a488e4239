"""The graph of a fused kernel: its nodes, and the classes of axes along which each has elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pykernels.kernel.expression import joining
from pykernels.kernel.expression.array_nodes import Joined, Reduction, Reshaped, Scattered, Sliced, View, operands_of
from pykernels.kernel.expression.axes import Shape, SharedAxes
from pykernels.kernel.expression.fused import Fused
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, in_order

#: As in fused/tables.h.
MAX_CLASSES, MAX_AXES, MAX_STEPS = 24, 512, 256


class Graph:
    """The nodes of a fused kernel.

    Attributes
    ----------
    fused : Fused
    axes : Axes
    outputs : list of Node
        The results before a final reshape, and the parts of those that are joined.
    targets : list of (int, Sliced or None)
        For each of these, the position of its output, and where it lies in that as a part.
    packed, joined : tuple of bool
        For every output, whether it is reshaped at the end, and whether it is joined.
    nodes : list of Node
        All nodes with a shape, each after its operands.
    numbers : dict of int to int
        The number of every class of axes, in the order in which the axes lie in memory.
    classes : dict of Node to frozenset of int
        The numbers of the classes along which a node has elements.

    Raises
    ------
    NotExpressible
        Arrays have axes in different orders, or too many of them; or an unfinished result is reshaped.
    """

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.axes = fused.axes
        # A reshape of a returned result does not move elements in memory.
        results = [within(output) for output in fused.outputs]
        bases = [
            within(output.operand) if isinstance(output, Reshaped) and not isinstance(output.operand, Input) else output
            for output in results
        ]
        self.joined = tuple(isinstance(base, Joined) for base in bases)
        self.packed = tuple(base is not output and not isinstance(base, Joined) for base, output in zip(bases, results))
        self.outputs: list[Node] = []
        self.targets: list[tuple[int, Sliced | None]] = []
        for at, (base, output) in enumerate(zip(bases, results)):
            pieces = self._pieces(at, base, is_reshaped=base is not output)
            self.outputs += [node for node, _ in pieces]
            self.targets += [(at, place) for _, place in pieces]
        self.nodes = [node for node in in_order(self.outputs, _operands) if self.axes.has(node)]
        for base, is_packed in zip(bases, self.packed):
            if is_packed and not self.is_full(base):
                raise SharedAxes("it reshapes what may be broadcast")
        for memory in map(memory_of, self.nodes):
            if isinstance(memory, Joined):
                raise NotExpressible("it computes with what it reshapes after joining it")
            if not (memory is None or isinstance(memory, Input) or self.is_full(memory)):
                raise SharedAxes("it reshapes what may be broadcast, and computes with that")
        scattered = (node for node in self.nodes if isinstance(node, Scattered))
        # Its elements are not broadcast by those that are combined with them, which is checked at run time.
        if not all(self.is_full(node, node.folded) for node in scattered):
            raise SharedAxes("it combines elements of what may be broadcast")
        if self.axes.n_positions > MAX_AXES or any(len(steps) > MAX_STEPS for steps in self.axes.lengths):
            raise NotExpressible("it reshapes too much")
        self.numbers = self._order()
        self.classes = {node: frozenset(self.classes_of(self.axes.shape_of(node))) for node in self.nodes}

    def _pieces(self, at: int, base: Node, *, is_reshaped: bool) -> list[tuple[Node, Sliced | None]]:
        """Return what is computed for an output, and where each part lies."""
        if not isinstance(base, Joined):
            return [(base, None)]
        if is_reshaped:
            whole = joining.positions_of(self.axes, self.axes.shape_of(base))
        else:
            whole = [position for (position,) in self.fused.tensors[self.fused.signature.n_inputs + at]]
        return [(within(node), place) for node, place in joining.pieces_of(self.axes, base, whole)]

    def _order(self) -> dict[int, int]:
        """Number the classes so that the numbers of every node increase from its first axis to its last."""
        sequences = [self.axes.classes(self.axes.shape_of(node)) for node in self.nodes]
        after: dict[int, set[int]] = {each: set() for sequence in sequences for each in sequence}
        for sequence in sequences:
            for first, second in itertools.pairwise(sequence):
                after[second].add(first)
        numbers: dict[int, int] = {}
        while len(numbers) < len(after):
            ready = [each for each in after if each not in numbers and after[each] <= numbers.keys()]
            if not ready:
                raise SharedAxes("it has arrays with the same axes in different orders")
            # Consecutive axes of an array stay neighbours.
            ready.sort(key=lambda each: not (after[each] & set(list(numbers)[-1:])))
            numbers[ready[0]] = len(numbers)
        if len(numbers) > MAX_CLASSES:
            raise NotExpressible(f"it has more than {MAX_CLASSES} axes")
        return numbers

    def classes_of(self, shape: Shape) -> tuple[int, ...]:
        """Return the classes of a shape, in order."""
        return tuple(self.numbers[each] for each in self.axes.classes(shape))

    def domain(self, node: Node) -> frozenset[int]:
        """Return the classes of the pass that computes a reduction, or stores another node."""
        return self.classes[within(node.operand) if isinstance(node, Reduction) else node]

    def folded(self, node: Reduction) -> frozenset[int]:
        """Return the classes along which a reduction folds."""
        return self.domain(node) - (frozenset() if isinstance(node, Scattered) else self.classes[node])

    def operands(self, node: Node) -> Iterator[Node]:
        """Return the arrays that a node is computed from."""
        return filter(self.axes.has, _operands(node))

    def is_full(self, node: Node, fitting: Shape = ()) -> bool:
        """Whether a node has all elements along its classes, no matter which tensors are broadcast.

        Axes that fit those of the node do not count.
        """
        shape = self.axes.shape_of(node)
        known = frozenset[int]().union(*shape, *fitting)
        classes = {self.axes.class_of(next(iter(axis))) for axis in shape if axis}
        others = (at for at in range(self.axes.n_positions) if self.axes.class_of(at) in classes and at not in known)
        return all(self.axes.is_length_of(at, known) for at in others)


def within(node: Node) -> Node:
    """Return the node behind a view."""
    while isinstance(node, View):
        node = node.operand
    return node


def memory_of(node: Node) -> Node | None:
    """Return the node in whose memory a reshaped array or a part lies; None for any other node."""
    if not isinstance(node, (Reshaped, Sliced)):
        return None
    found = within(node.operand)
    while isinstance(found, Reshaped):
        found = within(found.operand)
    return found


def _operands(node: Node) -> Iterator[Node]:
    """Return the nodes behind views that a node is computed from; a view of an input counts as a separate input."""
    memory = memory_of(node)
    if memory is None:
        return map(within, operands_of(node))
    return iter(()) if isinstance(memory, Input) else iter((memory,))
