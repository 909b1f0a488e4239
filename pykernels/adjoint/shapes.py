"""What written functions ask for shapes: arguments, or what they compute anyway, not arrays that nothing else needs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from pykernels.adjoint.nodes import BLOCK, LEFT, LIKE, Node, makes_array
from pykernels.kernel.expression.operations import OPERATIONS


def needs_only_the_shape(node: Node) -> bool:
    """Whether an expression reads no more than the shape and dtype of its first operand."""
    form = node.form.value if isinstance(node.form, ast.Subscript) else node.form
    asks = isinstance(form, ast.Attribute) and form.attr in ("shape", "ndim", "size")
    return node.op == "scatter" or node.op in LIKE or asks


class Shapes:
    """Finds what has the shape and dtype of a node.

    Parameters
    ----------
    leaves : sequence of Node
        What a function may use: arguments and attributes.
    values : collection of Node
        What it computes anyway.
    """

    def __init__(self, leaves: Sequence[Node], values: Collection[Node]) -> None:
        self._inputs = [leaf for leaf in leaves if leaf.op == "input"]
        self._values = values
        self._found: dict[Node, Node] = {}

    def like(self, node: Node) -> Node:
        """Return what stands for a node where its elements do not matter."""
        if node not in self._found:
            self._found[node] = self._new(node)
        return self._found[node]

    def _new(self, node: Node) -> Node:
        for leaf in self._inputs:
            if leaf.shapes == node.shapes and leaf.dtypes == node.dtypes:
                return leaf
        alike = [each for each in self._alike(node, set()) if each.dtypes == node.dtypes]
        return next((each for each in alike if each in self._values), alike[-1])

    def _alike(self, node: Node, seen: set[Node]) -> Iterator[Node]:
        """Yield a node, and those that it has its shape from, each before its own."""
        seen.add(node)
        yield node
        made = node.made_as
        operands = made.operands if made.op in OPERATIONS or made.op in LIKE else ()
        others = self._beside(node) if made is node and node.op == LEFT else []
        if made.op in ("broadcast_to", "reshape"):  # to the shape of another node
            forms = [(each, each.form) for each in made.operands[1:]]
            others += [each.operands[0] for each, form in forms if isinstance(form, ast.Attribute) and each.operands]
        for each in (made, *operands, *others):
            if each not in seen and each.op not in ("tuple", BLOCK) and each.shapes == node.shapes:
                yield from self._alike(each, seen)

    def _beside(self, node: Node) -> list[Node]:
        """Return what a block computes anyway, of which the block makes an array: ``np.zeros_like(h)``."""
        block = node.operands[0].block
        assert block is not None
        made = (each for each in block.statements if isinstance(each, ast.Assign))
        value = next((each.value for each in made if ast.unparse(each.targets[0]) == node.variable), None)
        name = ast.unparse(value.args[0]) if isinstance(value, ast.Call) and makes_array(value) and value.args else ""
        others = (each for each in self._values if each.op == LEFT and each.operands == node.operands)
        return [each for each in others if each.variable == name]
