"""The graph of a kernel's computation: one node for each different expression.

A node keeps its expression as syntax, with placeholders for its operands, and its value for every sample of arguments.
The values decide what NumPy decides at run time: shapes, and whether a result is of floating-point numbers.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pykernels.adjoint.blocks import Block
from pykernels.adjoint.histories import Histories
from pykernels.adjoint.syntax import renamed

#: The functions in the forms of "scatter", zeros of the shape of the first operand with the last one added at an index,
#: and of "scatter_more", the first operand with the last one added.
SCATTERED, SCATTERED_MORE = "_scattered", "_scattered_more"
#: Operations that stand for themselves: names of arguments and attributes, numbers, and other names of the file.
LEAVES = frozenset({"input", "attribute", "number", "constant"})
#: The operations of a block of statements, and of a variable that it leaves.
BLOCK, LEFT = "block", "left"
#: The functions that read no more than the shape and dtype of their operand.
LIKE = frozenset({"empty_like", "zeros_like", "ones_like"})
# The functions that make new arrays, which statements may change.
_NEW = frozenset({*LIKE, "copy", "empty", "full", "full_like", "ones", "zeros"})


@dataclass(eq=False, repr=False)
class Node:
    """An expression, and its value for every sample."""

    #: An operation of the operations table, the name of a function with a rule, one of `LEAVES`, `BLOCK`,
    #: `LEFT`, "tuple", or "" for what has no derivative.
    op: str
    #: The expression; the name ``_0`` stands for operand 0.
    form: ast.expr
    operands: tuple[Node, ...]
    values: tuple[Any, ...]
    #: Whether it depends on the values of the arguments to derive by.
    active: bool
    #: The operands of a function with a rule, by its parameters.
    arguments: Mapping[str, Node] = field(default_factory=dict)
    #: The variable to which the kernel assigns it.
    name: str = ""
    #: Where the kernel computes it: ``file:line``.
    place: str = ""
    #: Whether it is a result of the forward pass, which the gradient may read instead of computing it.
    is_result: bool = False
    #: The statements of a `BLOCK`.
    block: Block | None = None

    def __repr__(self) -> str:
        return f"Node({self.op!r}: {ast.unparse(self.expression())})"

    def rename(self, name: str) -> None:
        """Give an argument another name."""
        self.name, self.form = name, ast.Name(name, ast.Load())

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of the value, for every sample; of a tuple, its length."""
        return tuple((len(value),) if isinstance(value, tuple) else np.shape(value) for value in self.values)

    @property
    def dtypes(self) -> tuple[np.dtype, ...]:
        """The dtype of the value, for every sample."""
        return tuple(np.asarray(value).dtype for value in self.values)

    @property
    def ndims(self) -> set[int]:
        """All numbers of axes that the value has."""
        return {len(shape) for shape in self.shapes}

    @property
    def kept(self) -> Node | None:
        """The axes along which it has length 1 because a reduction kept them, or None."""
        keeps = self.arguments.get("keepdims")
        if keeps is not None and keeps.values[0]:
            return self.arguments.get("axis")
        alike = (operand for operand in self.operands if not self.arguments and operand.shapes == self.shapes)
        return next((operand.kept for operand in alike if operand.kept is not None), None)

    @property
    def made_as(self) -> Node:
        """The node that has the shape of an array which a block changes: the array as it was before."""
        if self.op != LEFT or self.operands[0].block is None or self.variable not in self.operands[0].block.reads:
            return self
        return self.operands[0].operands[self.operands[0].block.reads.index(self.variable)]

    @property
    def variable(self) -> str:
        """The variable of a block that a `LEFT` node stands for."""
        block = self.operands[0].block
        assert block is not None and isinstance(self.form, ast.Subscript)
        return block.leaves[int(ast.literal_eval(self.form.slice))]

    @property
    def number(self) -> float | int | None:
        """The value of a number that is written in the code, or None."""
        return self.values[0] if self.op == "number" else None

    def expression(self, name_of: Callable[[Node], str] = lambda node: "") -> ast.expr:
        """Return the whole expression; operands for which `name_of` has a name are variables of that name."""
        return filled(self.form, [_operand(operand, name_of) for operand in self.operands])


class Read(Protocol):
    """Reads an expression of nodes: ``read("a * b", a=..., b=...)``."""

    def __call__(self, text: str, /, **names: Node) -> Node:
        """Return the node of an expression."""


def _operand(node: Node, name_of: Callable[[Node], str]) -> ast.expr:
    name = name_of(node)
    return ast.Name(name, ast.Load()) if name else node.expression(name_of)


def placeholder(number: int) -> ast.Name:
    """Return the name that stands for an operand."""
    return ast.Name(f"_{number}", ast.Load())


def filled(form: ast.expr, operands: Sequence[ast.expr]) -> ast.expr:
    """Return `form` with the operands in the place of its placeholders."""
    return renamed(form, {placeholder(number).id: operand for number, operand in enumerate(operands)})


class Graph:
    """All nodes of a derivation. Equal expressions are one node.

    Parameters
    ----------
    namespace : mapping
        The names that expressions may use beside their operands: those of the kernel's file, and NumPy's ``np``.
    samples : int
        The number of samples.
    histories : Histories, optional
        The variables whose values loops keep.
    """

    def __init__(self, namespace: Mapping[str, Any], samples: int, histories: Histories | None = None) -> None:
        self.namespace = {**namespace, SCATTERED: _scattered, SCATTERED_MORE: _scattered_more}
        self.samples = samples
        self.histories = histories or {}
        self._known: dict[Any, Node] = {}

    @property
    def nodes(self) -> list[Node]:
        """All nodes, each after its operands."""
        return list(self._known.values())

    def leaf(self, op: str, name: str, values: Sequence[Any], *, active: bool = False) -> Node:
        """Return the node of an argument or attribute."""
        return self._add((op, name), Node(op, ast.Name(name, ast.Load()), (), tuple(values), active, name=name))

    def node(
        self,
        op: str,
        form: ast.expr,
        operands: Sequence[Node] = (),
        arguments: Mapping[str, Node] | None = None,
        *,
        place: str = "",
    ) -> Node:
        """Return the node of an expression, whose value is computed if it is new.

        Expressions at different places of the code are different nodes. This raises whatever the expression raises.
        """
        key = (ast.dump(form), *(id(operand) for operand in operands), place)
        if key in self._known:
            return self._known[key]
        code = compile(ast.fix_missing_locations(ast.Expression(filled(form, []))), "<derivation>", "eval")
        values = []
        for sample in range(self.samples):
            names = {placeholder(at).id: operand.values[sample] for at, operand in enumerate(operands)}
            with np.errstate(all="ignore"):
                values.append(eval(code, {**self.namespace, **names}))
        active = op not in LIKE and any(operand.active for operand in operands) and any(map(is_floating, values))
        return self._add(key, Node(op, form, tuple(operands), tuple(values), active, arguments or {}))

    def tuple(self, items: Sequence[Node]) -> Node:
        """Return the node of a tuple of expressions."""
        form = ast.Tuple([placeholder(at) for at in range(len(items))], ast.Load())
        values = tuple(tuple(item.values[sample] for item in items) for sample in range(self.samples))
        key = ("tuple", *(id(item) for item in items))
        return self._add(key, Node("tuple", form, tuple(items), values, any(item.active for item in items)))

    def block(self, block: Block, operands: Sequence[Node]) -> dict[str, Node]:
        """Return the nodes of the variables that a block leaves. This raises whatever the block raises."""
        run = block.compiled(self.namespace)
        values = tuple(run(*(operand.values[sample] for operand in operands)) for sample in range(self.samples))
        active = any(operand.active for operand in operands)
        # Each block is a node of its own, since what it assigns to may be assigned to again.
        node = Node(BLOCK, ast.Name(BLOCK, ast.Load()), tuple(operands), values, active, block=block)
        return self.left(node)

    def left(self, node: Node) -> dict[str, Node]:
        """Return the nodes of the variables that the block of a node leaves."""
        assert node.block is not None
        forms = (ast.Subscript(placeholder(0), ast.Constant(at), ast.Load()) for at in itertools.count())
        return {name: self.node(LEFT, form, [node]) for name, form in zip(node.block.leaves, forms)}

    def _add(self, key: Any, node: Node) -> Node:
        return self._known.setdefault(key, node)


def _scattered(array: np.ndarray, index: Any, values: np.ndarray) -> np.ndarray:
    return _scattered_more(np.zeros_like(array), index, values)


def _scattered_more(array: np.ndarray, index: Any, values: np.ndarray) -> np.ndarray:
    result = array.copy()
    np.add.at(result, index, values)
    return result


def is_list(index: Node) -> bool:
    """Whether an index may name an element twice."""
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in index.values)


def makes_zeros(form: ast.expr) -> bool:
    """Whether an expression calls a function that makes an array of zeros."""
    return isinstance(form, ast.Call) and ast.unparse(form.func).rpartition(".")[2] in ("zeros", "zeros_like")


def makes_array(form: ast.expr) -> bool:
    """Whether an expression calls a function that makes a new array."""
    return isinstance(form, ast.Call) and ast.unparse(form.func).rpartition(".")[2] in _NEW


def is_floating(value: Any) -> bool:
    """Whether a value is made of floating-point numbers."""
    if isinstance(value, (tuple, list)):
        return any(map(is_floating, value))
    return isinstance(value, (float, np.ndarray, np.floating)) and np.asarray(value).dtype.kind == "f"


def is_complex(value: Any) -> bool:
    """Whether a value is made of complex numbers."""
    return isinstance(value, (complex, np.ndarray, np.complexfloating)) and np.asarray(value).dtype.kind == "c"


def in_order(results: Sequence[Node]) -> list[Node]:
    """Return all nodes on which `results` depend, each after its operands, and `results` themselves."""
    seen: set[int] = set()
    found: list[Node] = []

    def visit(node: Node) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        for operand in node.operands:
            visit(operand)
        found.append(node)

    for result in results:
        visit(result)
    return found
