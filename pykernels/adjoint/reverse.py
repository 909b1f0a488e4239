"""Propagate the gradients of results back to the arguments."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.adjoint.elements import BEFORE
from pykernels.adjoint.expressions import read
from pykernels.adjoint.loops import terms_of_block
from pykernels.adjoint.moves import RULES
from pykernels.adjoint.nodes import LEFT, Graph, Node, Read, in_order, placeholder
from pykernels.adjoint.scattering import added, begun, scattered
from pykernels.base.errors import KernelError
from pykernels.kernel.expression.operations import OPERATIONS

_NAMES = "abc"
# What the text of a method's form begins with.
_PLACEHOLDER = r"^_\d+\."
# The operations that pass the gradient of equal operands to one of them.
_EXTREMA = {"maximum": "np.heaviside(a, 0.5)", "minimum": "np.heaviside(-a, 0.5)", "fmax": "", "fmin": ""}


def gradients_of(
    graph: Graph, arguments: Sequence[Node], results: Sequence[Node], slopes: Sequence[Node]
) -> list[Node | None]:
    """Return the gradient of each argument, for the gradients `slopes` of the results; None where it is 0.

    This raises `KernelError` if an operation between them has no derivative.
    """
    reads: Read = functools.partial(read, graph)
    order = in_order([result for result in results if result.active])
    found: dict[Node, Node] = {}
    absolute = {_without_factors(node.operands[0]) for node in order if node.op == "absolute"}
    of_blocks: dict[Node, dict[str, Node]] = {}

    def add(node: Node, term: Node) -> None:
        term = _summed(reads, node, term)
        found[node] = added(graph, found[node], term) if node in found else term

    for result, slope in zip(results, slopes):
        result.is_result = True
        if result.active:
            add(result, slope)
    for node in reversed(order):
        if node in of_blocks:
            for operand, term in _placed(node, terms_of_block, graph, node, of_blocks[node], gradients_of):
                add(operand, term)
        if node not in found or not node.active:
            continue
        g = found[node] = _joined(graph, found[node])
        if node.name and node.operands and not g.name and g.operands:
            g.name = f"d{node.name}"
            begun(g).name = g.name
        if node.op == LEFT:
            of_blocks.setdefault(node.operands[0], {})[node.variable] = _whole(reads, node, g)
            continue
        for operand, term in _placed(node, _terms, graph, reads, node, g, absolute):
            if operand.active:
                add(operand, term)
    return [
        _whole(reads, argument, _joined(graph, found[argument])) if argument in found else None
        for argument in arguments
    ]


def _placed(node: Node, terms: Callable[..., Iterable[tuple[Node, Node]]], *given: Any) -> list[tuple[Node, Node]]:
    """Return the terms of a node; an error has its line."""
    try:
        return list(terms(*given))
    except KernelError as error:
        message = str(error.args[0])
        if not node.place or message.startswith(node.place.rpartition(":")[0]):
            raise
        raise KernelError(f"{node.place}: {message}") from None


def _terms(graph: Graph, reads: Read, node: Node, g: Node, absolute: Collection[Node]) -> list[tuple[Node, Node]]:
    if node.op in ("input", "attribute"):
        return []
    rule = RULES.get(node.op)
    if rule is not None:
        return list(rule.terms(reads, node, g if rule.is_elementwise or _fits_sum(node, g) else _whole(reads, node, g)))
    if node.op == "getitem":
        if not all(isinstance(value, (np.ndarray, np.generic)) for value in node.operands[0].values):
            raise KernelError(f"{_function_of(node.operands[0])} returns several arrays, and has no derived gradient")
        index = _index_back(node)
        term = reads(f"g[{index}]", g=_whole(reads, node, g)) if index else scattered(graph, node, g)
        return [(node.operands[0], term)]
    if node.op in ("scatter", "scatter_more"):
        array, *indices, values = node.operands
        assert isinstance(node.form, ast.Call) and isinstance(node.form.args[1], ast.Subscript)
        form = ast.Subscript(placeholder(0), node.form.args[1].slice, ast.Load())
        selected = graph.node("getitem", form, [g, *indices], {"a": g})
        return [(values, selected), *([(array, g)] if node.op == "scatter_more" else [])]
    operation = OPERATIONS.get(node.op)
    if operation is None or not operation.slopes:
        raise KernelError(f"{_function_of(node)} has no derived gradient")
    operands, slopes = node.operands, operation.slopes
    if node.op in _EXTREMA and not operands[0].active:
        operands = operands[::-1]
    named = operands
    if _EXTREMA.get(node.op) and operands[1].number == 0 and _without_factors(operands[0]) in absolute:
        # The slope of np.abs at 0 is 0, and np.maximum(x, 0) is half of x + np.abs(x).
        slopes = (_EXTREMA[node.op],)
    elif node.op == "maximum" and node.is_result and operands[1].number == 0:
        named = (node, operands[1])  # the result is positive where the operand is
    names = {**dict(zip(_NAMES, named)), "y": node}
    terms = []
    for operand, slope in zip(operands, slopes):
        if operand.active and slope != "0":
            terms.append((operand, _product(reads, slope, g, names)))
    return terms


def _function_of(node: Node) -> str:
    """Return the function or method that an expression calls, or the whole expression."""
    what = node.form.func if isinstance(node.form, ast.Call) else node.expression()
    return re.sub(_PLACEHOLDER, "", ast.unparse(what))


def _fits_sum(node: Node, g: Node) -> bool:
    """Whether the gradient of a sum is broadcast anyway."""
    return node.op in ("sum", "mean") and (g.ndims == node.ndims or g.ndims == {0})


def _without_factors(node: Node) -> Node:
    """Return what an expression multiplies by others that have no gradient."""
    while node.op in ("multiply", "divide", "negative"):
        active = [operand for operand in node.operands if operand.active]
        if len(active) != 1:
            break
        node = active[0]
    return node


def _product(reads: Read, slope: str, g: Node, names: dict[str, Node]) -> Node:
    if slope.startswith("if not "):
        return reads(f"np.where({slope.removeprefix('if not ')}, 0, g)", g=g, **names)
    if slope.startswith("if "):
        return reads(f"np.where({slope.removeprefix('if ')}, g, 0)", g=g, **names)
    return reads(f"g * ({slope})", g=g, **names)


def _index_back(node: Node) -> str:
    """Return the index that undoes one which only adds and drops axes of length 1, or ""."""
    assert isinstance(node.form, ast.Subscript)
    index = node.form.slice
    items = [ast.unparse(item) for item in (index.elts if isinstance(index, ast.Tuple) else [index])]
    back = {":": ":", "...": "...", "None": "0", "0": "None"}
    sizes = [(np.prod(after), np.prod(before)) for after, before in zip(node.shapes, node.operands[0].shapes)]
    if any(after != before for after, before in sizes) or not set(items) <= set(back):
        return ""
    return ", ".join(back[item] for item in items)


def _joined(graph: Graph, node: Node) -> Node:
    """Return the node, as a concatenation if it adds arrays to sections of zeros that follow one another."""
    sections, first = [], node
    while first.op == "scatter_more":
        sections.append(_section(first))
        first = first.operands[0]
    if first.op != "scatter" or first is node:
        return node
    sections.append(_section(first))
    by_begin = {section.begin: section for section in sections if section is not None}
    ordered: list[_Section] = []
    at: object = None
    while at in by_begin and (not ordered or at is not None):
        ordered.append(by_begin[at])
        at = ordered[-1].end
    axes = {section.axis for section in ordered}
    whole = first.operands[0].shapes
    if len(ordered) < len(sections) or at is not None or len(axes) > 1:
        return node
    (axis,) = axes
    joined = graph.tuple([section.values for section in ordered])
    form = ast.parse(f"np.concatenate(_0, axis={axis})", mode="eval").body
    try:
        found = graph.node("concatenate", form, [joined], {"arrays": joined, "axis": read(graph, str(axis))})
    except ValueError:  # the gradient of a section is the same along some axis, and has length 1 there
        return node
    return found if found.shapes == whole else node


@dataclass(frozen=True)
class _Section:
    """An array that is added from one place along an axis to another; None is either end of the axis."""

    axis: int
    begin: object
    end: object
    values: Node


def _section(node: Node) -> _Section | None:
    """Return the section to which a scattering adds an array; None if it adds it elsewhere."""
    assert isinstance(node.form, ast.Call) and isinstance(node.form.args[1], ast.Subscript)
    index = node.form.args[1].slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    cut = [at for at, part in enumerate(parts) if ast.unparse(part) not in (":", "...")]
    part = parts[cut[0]] if len(cut) == 1 else None
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    is_from_end = any(ast.unparse(each) == "..." for each in parts[: cut[0]])
    if not is_from_end and any(ast.unparse(each) == "..." for each in parts):
        return None
    begin, end = (None if each is None else _bound(node, each) for each in (part.lower, part.upper))
    return _Section(cut[0] - len(parts) if is_from_end else cut[0], begin, end, node.operands[-1])


def _bound(node: Node, tree: ast.expr) -> object:
    """Return what tells a bound of a slice from others."""
    names = {placeholder(at).id: operand for at, operand in enumerate(node.operands)}
    return names.get(tree.id, tree.id) if isinstance(tree, ast.Name) else ast.dump(tree)


def _summed(reads: Read, node: Node, term: Node) -> Node:
    """Return `term`, summed along the axes along which `node` was broadcast."""
    if all(_fits(part, whole) for part, whole in zip(term.shapes, node.shapes)):
        return term
    if term.op == "negative":
        return reads("-a", a=_summed(reads, node, term.operands[0]))
    more = {len(t) - len(n) for t, n in zip(term.shapes, node.shapes)}
    if more != {0}:
        return _summed(reads, node, _without_leading(reads, node, term, more))
    if node.kept is not None:
        return reads("np.sum(term, axis=axis, keepdims=True)", term=term, axis=node.kept)
    along = {
        tuple(at - len(n) for at in range(len(n)) if n[at] == 1 != t[at]) for t, n in zip(term.shapes, node.shapes)
    }
    if len(along) != 1:
        raise KernelError(f"the axes along which {_shown(node)} is broadcast differ between calls")
    (axes,) = along
    text = repr(axes[0] if len(axes) == 1 else axes)
    return reads(f"np.sum(term, axis={text}, keepdims=True)", term=term)


def _shown(node: Node) -> str:
    return "the variable" if node.name == BEFORE else node.name or ast.unparse(node.expression())


def _without_leading(reads: Read, node: Node, term: Node, more: set[int]) -> Node:
    if len(more) == 1:
        (n,) = more
        return reads(f"np.sum(term, axis={0 if n == 1 else tuple(range(n))})", term=term)
    if len(node.ndims) != 1:
        raise KernelError(
            f"{_shown(node)} has another number of axes in other turns or calls: "
            "let it begin as an array of the shape that it gets"
        )
    (ndim,) = node.ndims
    if ndim == 0:
        return reads("np.sum(term)", term=term)
    return reads(f"np.sum(term, axis=tuple(range(term.ndim - {ndim})))", term=term)


def _fits(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array of the shape `part` is broadcast to `whole` without changing it."""
    return len(part) <= len(whole) and all(p in (1, w) for p, w in zip(reversed(part), reversed(whole)))


def _whole(reads: Read, node: Node, g: Node) -> Node:
    """Return `g` with the shape of the node."""
    return g if g.shapes == node.shapes else reads("np.broadcast_to(g, a.shape)", g=g, a=node)
