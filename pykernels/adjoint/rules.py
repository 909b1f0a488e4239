"""The derivatives of functions that fold or combine elements. Those of elements stand in the operations table.

`products` adds those of matrices, and `moves` those of functions that move elements.

Each rule takes the node of a call and the gradient of its result, and yields pairs: an operand, and what it adds to the
gradient of that operand. A gradient may lack axes, or have length 1 along them, where it is the same for all elements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pykernels.adjoint.nodes import Node, Read, filled
from pykernels.base.errors import KernelError
from pykernels.kernel.expression.operations import OPERATIONS

Terms = Iterable[tuple[Node, Node]]


@dataclass(frozen=True)
class Rule:
    """The derivative of a function."""

    #: The parameters of the function, as far as the rule knows them; a call with others has no derivative, unless the
    #: last one is "*".
    parameters: tuple[str, ...]
    terms: Callable[[Read, Node, Node], Terms]
    #: Whether each element of the result depends on one element, so that the gradient may lack axes.
    is_elementwise: bool = False

    def bind(self, operands: Sequence[Node], named: Mapping[str, Node]) -> dict[str, Node] | None:
        """Return the arguments of a call by the names of the parameters, or None if the rule does not know them."""
        if self.parameters[-1] == "*":
            return dict(zip(self.parameters[:-1], operands))
        if len(operands) > len(self.parameters) or not named.keys() <= set(self.parameters[len(operands) :]):
            return None
        return {**dict(zip(self.parameters, operands)), **named}


#: By the names of functions of NumPy and methods of arrays.
RULES: dict[str, Rule] = {}


def rule(
    names: str, *parameters: str, is_elementwise: bool = False
) -> Callable[[Callable[[Read, Node, Node], Terms]], Callable[..., Terms]]:
    """Add the decorated function as the rule of functions with these names and parameters."""

    def add(function: Callable[[Read, Node, Node], Terms]) -> Callable[..., Terms]:
        RULES.update(dict.fromkeys(names.split(), Rule(parameters, function, is_elementwise)))
        return function

    return add


# ---- reductions


def folded(node: Node) -> Node | None:
    """Return the axis, or axes, along which a reduction folds; None if it folds all elements."""
    axis = node.arguments.get("axis")
    return None if axis is None or axis.values[0] is None else axis


def _divisor(read: Read, a: Node, axis: Node | None) -> Node:
    """Return `count` as a float: before NumPy 2, float16 divided by an integer above 255 is float32."""
    return read("float(n)", n=count(read, a, axis))


def count(read: Read, a: Node, axis: Node | None) -> Node:
    """Return the number of elements along an axis, several axes, or all."""
    if axis is None:
        return read("a.size", a=a)
    if not isinstance(axis.values[0], tuple):
        return _length(read, a, axis)
    if all(operand.op == "number" for operand in axis.operands):
        lengths = {f"n{at}": _length(read, a, operand) for at, operand in enumerate(axis.operands)}
        return read(" * ".join(lengths), **lengths)
    return read("a.size // max(np.sum(a, axis=axis).size, 1)", a=a, axis=axis)


def _length(read: Read, a: Node, axis: Node) -> Node:
    """Return the number of elements along an axis: what reshaping names, if it does."""
    is_plain = a.op == "reshape" and isinstance(a.form, ast.Call) and isinstance(a.form.func, ast.Attribute)
    if is_plain and isinstance(axis.number, int) and len(a.operands) > 2:
        length = a.operands[1:][axis.number]
        if all(isinstance(value, (int, np.integer)) and value >= 0 for value in length.values):
            return length
    return read("a.shape[axis]", a=a, axis=axis)


def _restored(read: Read, node: Node, value: Node) -> Node:
    """Return `value`, of the shape of a reduction's result, with the axes along which it folds."""
    axis, keeps = folded(node), node.arguments.get("keepdims")
    if axis is None or (keeps is not None and keeps.values[0]) or (value.ndims == {0} and 0 not in node.ndims):
        return value
    if 0 not in value.ndims and all(map(_are_first, axis.values, node.arguments["a"].values)):
        return value  # NumPy broadcasts it
    if 0 in value.ndims and value.op in OPERATIONS:
        # Of operands, which are arrays: a result without axes is a number of NumPy's, which Python's numbers promote.
        names = {f"v{at}": operand for at, operand in enumerate(value.operands)}
        form = filled(value.form, [ast.Name(name, ast.Load()) for name in names])
        restored = {
            name: _restored(read, node, operand) if operand.shapes == value.shapes else operand
            for name, operand in names.items()
        }
        return read(ast.unparse(form), **restored)
    if isinstance(axis.number, int) and all(isinstance(each, (np.ndarray, np.generic)) for each in value.values):
        before, after = beside(axis.number)
        return read(f"value[{before}None{after}]", value=value)
    return read("np.expand_dims(value, axis)", value=value, axis=axis)


def _are_first(axes: Any, a: Any) -> bool:
    """Return whether axes of an array stand before all others."""
    given = axes if isinstance(axes, tuple) else (axes,)
    return sorted(axis % np.ndim(a) for axis in given) == list(range(len(given)))


def axis_of(read: Read, node: Node) -> Node:
    """Return the axis that a call names."""
    if "axis" in node.arguments:
        return node.arguments["axis"]
    if node.op.endswith(".accumulate") or node.arguments["a"].ndims == {1}:
        return read("0")
    raise KernelError(f"{node.op} without an axis has no derived gradient")


def beside(axis: int) -> tuple[str, str]:
    """Return what an index has before and after its part for an axis, to take all along the others."""
    return (":, " * axis, "") if axis >= 0 else ("..., ", ", :" * (-axis - 1))


@rule("sum", "a", "axis", "keepdims")
def _sum(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], _restored(read, node, g)


@rule("mean", "a", "axis", "keepdims")
def _mean(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    yield a, read("g / n", g=_restored(read, node, g), n=_divisor(read, a, folded(node)))


@rule("max amax min amin", "a", "axis", "keepdims")
def _extreme(read: Read, node: Node, g: Node) -> Terms:
    """Share the gradient among the elements that are equal to the extreme one."""
    a = node.arguments["a"]
    is_it = read("a == y", a=a, y=_restored(read, node, _computed(node)))
    ties = _ties(read, node, is_it)
    yield a, read("np.where(is_it, g / ties, 0)", is_it=is_it, ties=ties, g=_restored(read, node, g))


def _computed(node: Node) -> Node:
    """Return a reduction, to compare its elements with: it is not read where these are computed, and may differ."""
    return replace(node, is_result=False) if node.is_result and node.arguments["a"].op != "input" else node


def _ties(read: Read, node: Node, is_it: Node) -> Node:
    """Return how many elements are the extreme one of those that a reduction folds."""
    a, axis = node.arguments["a"], folded(node)
    if axis is None:
        return read("np.sum(is_it, dtype=a.dtype)", is_it=is_it, a=a)
    return read("np.sum(is_it, axis=axis, keepdims=True, dtype=a.dtype)", is_it=is_it, axis=axis, a=a)


@rule("prod", "a", "axis", "keepdims")
def _prod(read: Read, node: Node, g: Node) -> Terms:
    """Multiply by all other elements: those before and those behind, so that an element may be 0."""
    a, axis = node.arguments["a"], folded(node)
    if axis is None:
        others = read("others.reshape(a.shape)", others=_others(read, read("a.ravel()", a=a), -1), a=a)
    elif isinstance(axis.number, int):
        others = _others(read, a, axis.number)
    else:
        raise KernelError("np.prod has a derived gradient along one axis, which is written in place, or all")
    yield a, read("g * others", g=_restored(read, node, g), others=others)


def _others(read: Read, a: Node, axis: int) -> Node:
    """Return for each element the product of those before it and behind it."""
    begin, end = beside(axis)
    products = f"np.cumprod(np.concatenate((one, a[{begin}:-1{end}]), axis={axis}), axis={axis})"
    one = read(f"np.ones_like(a[{begin}:1{end}])", a=a)
    before = read(products, a=a, one=one)
    behind = read(products, a=read(f"np.flip(a, axis={axis})", a=a), one=one)
    for name, each in (("one", one), ("before", before), ("behind", behind)):
        each.name = each.name or name
    return read(f"before * np.flip(behind, axis={axis})", before=before, behind=behind)


@rule("var", "a", "axis", "keepdims", "ddof")
def _var(read: Read, node: Node, g: Node) -> Terms:
    a, axis = node.arguments["a"], folded(node)
    names = {"a": a} if axis is None else {"a": a, "axis": axis}
    mean = read("np.mean(a)" if axis is None else "np.mean(a, axis=axis, keepdims=True)", **names)
    n = _divisor(read, a, axis)
    if "ddof" in node.arguments:
        n = read("float(n - ddof)", n=count(read, a, axis), ddof=node.arguments["ddof"])
    yield a, read("g * (2 * (a - mean) / n)", g=_restored(read, node, g), a=a, mean=mean, n=n)


@rule("std", "a", "axis", "keepdims", "ddof")
def _std(read: Read, node: Node, g: Node) -> Terms:
    for a, term in _var(read, node, g):
        yield a, read("term / (2 * y)", term=term, y=_restored(read, node, node))


@rule("norm", "a", "ord", "axis", "keepdims")
def _norm(read: Read, node: Node, g: Node) -> Terms:
    a, order, axis = node.arguments["a"], node.arguments.get("ord"), folded(node)
    names = {"a": a, "g": _restored(read, node, g), "y": _restored(read, node, node)}
    number = None if order is None else order.values[0]
    is_of_vectors = a.ndims == {1} if axis is None else np.ndim(axis.values[0]) == 0
    if number is None or number == "fro" or (number == 2 and is_of_vectors):
        yield a, read("g * (a / y)", **names)
    elif number == 1 and is_of_vectors:
        yield a, read("g * np.sign(a)", **names)
    elif number == np.inf and is_of_vectors:
        is_it = read("np.abs(a) == y", a=a, y=_restored(read, node, _computed(node)))
        yield a, read("np.where(is_it, g * np.sign(a) / ties, 0)", is_it=is_it, ties=_ties(read, node, is_it), **names)
    elif order is not None and is_of_vectors and isinstance(number, (int, float)) and number > 1:
        yield a, read("g * np.sign(a) * (np.abs(a) / y) ** (order - 1)", order=order, **names)
    else:
        raise KernelError(
            "np.linalg.norm has a derived gradient for norms of vectors of orders from 1 to np.inf, and 'fro'"
        )


@rule("logsumexp", "a", "axis", "keepdims")
def _logsumexp(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    softmax = _softmax_of(read, node, read("np.exp(a - y)", a=a, y=_restored(read, node, node)))
    yield a, read("g * softmax", g=_restored(read, node, g), softmax=softmax)


def _softmax_of(read: Read, node: Node, of_result: Node) -> Node:
    """Return the softmax of the operand of a logarithm: `of_result`, or another form where that computes more."""
    axis = node.arguments.get("axis")
    if node.is_result or of_result.is_result or axis is None or not isinstance(axis.values[0], int):
        return of_result
    if "total" not in node.arguments:
        return read("scipy.special.softmax(a, axis=axis)", a=node.arguments["a"], axis=axis)
    e, total = node.arguments["e"], node.arguments["total"]
    return read("e / total", e=e, total=_restored(read, node, total) if total.kept is None else total)


@rule("softmax", "a", "axis")
def _softmax(read: Read, node: Node, g: Node) -> Terms:
    names = {"g": g, "y": node, "axis": axis_of(read, node)}
    yield node.arguments["a"], read("y * (g - np.sum(g * y, axis=axis, keepdims=True))", **names)


@rule("log_softmax", "a", "axis")
def _log_softmax(read: Read, node: Node, g: Node) -> Terms:
    softmax = _softmax_of(read, node, read("np.exp(y)", y=node))
    names = {"g": g, "softmax": softmax, "axis": axis_of(read, node)}
    yield node.arguments["a"], read("g - softmax * np.sum(g, axis=axis, keepdims=True)", **names)


# ---- functions of elements that have no row in the operations table


@rule("logistic", "a", is_elementwise=True)
def _logistic(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("g * y * (1 - y)", g=g, y=node)


@rule("softplus", "a", is_elementwise=True)
def _softplus(read: Read, node: Node, g: Node) -> Terms:
    # The result is there already, and more precise for small numbers; otherwise one function is less than three.
    a, slope = node.arguments["a"], "g * -np.expm1(-y)" if node.is_result else "g / (1 + np.exp(-a))"
    yield a, read(slope, g=g, y=node, a=a)


# By name: the slope by each parameter, in terms of the parameters `a`, `b`, ... and the result `y`.
_SLOPES: Mapping[str, Mapping[str, str]] = {
    "degrees": {"a": "180 / np.pi"},
    "rad2deg": {"a": "180 / np.pi"},
    "radians": {"a": "np.pi / 180"},
    "deg2rad": {"a": "np.pi / 180"},
    "nan_to_num": {"a": "np.isfinite(a)"},
    "sinc": {"a": "np.where(a == 0, 0, (np.cos(np.pi * a) - y) / np.where(a == 0, 1, a))"},
    "entr": {"a": "-1 - np.log(a)"},
    "huber": {"delta": "np.maximum(np.abs(a) - delta, 0)", "a": "np.clip(a, -delta, delta)"},
    "kl_div": {"a": "np.log(a / b)", "b": "1 - a / b"},
    "log_expit": {"a": "-np.expm1(y)"},
    "ndtr": {"a": "np.exp(-0.5 * a**2) * 0.3989422804014327"},
    "pseudo_huber": {
        "delta": "2 * delta * (np.sqrt(1 + (a / delta)**2) - 1) - a**2 / (delta * np.sqrt(1 + (a / delta)**2))",
        "a": "a / np.sqrt(1 + (a / delta)**2)",
    },
    "rel_entr": {"a": "np.log(a / b) + 1", "b": "-(a / b)"},
    "xlog1py": {"a": "np.log1p(b)", "b": "a / (1 + b)"},
}


def _by_slopes(read: Read, node: Node, g: Node) -> Terms:
    for parameter, slope in _SLOPES[node.op].items():
        yield node.arguments[parameter], read(f"g * ({slope})", g=g, y=node, **node.arguments)


RULES.update({name: Rule(tuple(slopes), _by_slopes, is_elementwise=True) for name, slopes in _SLOPES.items()})


@rule("polygamma", "n", "a", is_elementwise=True)
def _polygamma(read: Read, node: Node, g: Node) -> Terms:
    n, a = node.arguments["n"], node.arguments["a"]
    if n.active:
        raise KernelError("scipy.special.polygamma has a derived gradient by its second argument alone")
    yield a, read("g * scipy.special.polygamma(n + 1, a)", g=g, n=n, a=a)


@rule("clip", "a", "a_min", "a_max", is_elementwise=True)
def _clip(read: Read, node: Node, g: Node) -> Terms:
    """Elements at a bound have a gradient."""
    tests = {"a_min": "(a >= a_min)", "a_max": "(a <= a_max)"}
    bounds = {name: node.arguments[name] for name in tests if node.arguments.get(name, node).values[0] is not None}
    bounds = {name: bound for name, bound in bounds.items() if name in node.arguments}
    condition = " & ".join(tests[name] for name in bounds)
    yield node.arguments["a"], read(f"np.where({condition}, g, 0)", g=g, a=node.arguments["a"], **bounds)


@rule("astype copy ascontiguousarray asarray", "a", "dtype", is_elementwise=True)
def _same(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], g
