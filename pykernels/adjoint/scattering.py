"""Arrays of zeros to whose elements others are added, as nodes: what indices of arrays have as gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from pykernels.adjoint.expressions import read
from pykernels.adjoint.nodes import SCATTERED, SCATTERED_MORE, Graph, Node, makes_zeros, placeholder

_SCATTERINGS = frozenset({"scatter", "scatter_more"})


def scattered(graph: Graph, node: Node, values: Node) -> Node:
    """Return an array of zeros with `values` in the place of the elements that `node` selects."""
    assert isinstance(node.form, ast.Subscript)
    array, *indices = node.operands
    last = placeholder(len(node.operands))
    index = ast.Subscript(ast.Attribute(ast.Name("np", ast.Load()), "s_", ast.Load()), node.form.slice, ast.Load())
    form = ast.Call(ast.Name(SCATTERED, ast.Load()), [placeholder(0), index, last], [])
    return graph.node("scatter", form, [array, *indices, values])


def added(graph: Graph, a: Node, b: Node) -> Node:
    """Return the sum of two arrays, one of which may be scattered into the other."""
    if b.op == "scatter" and a.op in _SCATTERINGS:
        assert isinstance(b.form, ast.Call)
        form = ast.Call(ast.Name(SCATTERED_MORE, ast.Load()), b.form.args, [])
        return graph.node("scatter_more", form, [a, *b.operands[1:]])
    if b.op == "scatter" and a.op == "add" and a.operands[1].op in _SCATTERINGS:
        return read(graph, "a + b", a=a.operands[0], b=added(graph, a.operands[1], b))
    return read(graph, "a + b", a=a, b=b)


def begun(node: Node) -> Node:
    """Return the array of zeros with one array added to it to which a node adds others."""
    return begun(node.operands[0]) if node.op == "scatter_more" else node


def assigned(graph: Graph, node: Node, values: Node) -> Node | None:
    """Return the array of the elements that `node` selects with `values` in their place.

    That is None but for an array of zeros, to other elements of which something may be assigned already.
    """
    before, found = node.operands[0], scattered(graph, node, values)
    if makes_zeros(before.form):
        return found
    parts = [*_parts(before), found] if before.op in _SCATTERINGS else []
    marks = [_marks(graph, part) for part in parts]
    if not parts or None in marks:
        return None
    counts = (sum(marked) for marked in zip(*(mark.values for mark in marks if mark is not None)))
    return None if any(np.any(count > 1) for count in counts) else added(graph, before, found)


def _parts(node: Node) -> Iterator[Node]:
    while node.op == "scatter_more":
        yield node
        node = node.operands[0]
    yield node


def _marks(graph: Graph, part: Node) -> Node | None:
    """Return an array with 1 in the place of the elements to which an array is added; None if it depends on others."""
    array, *indices, _ = part.operands
    assert isinstance(part.form, ast.Call)
    if any(isinstance(value, np.ndarray) for index in indices for value in index.values):
        return None
    form = ast.Call(ast.Name(SCATTERED, ast.Load()), [placeholder(0), part.form.args[1], ast.Constant(1)], [])
    return graph.node("", form, [array, *indices])
