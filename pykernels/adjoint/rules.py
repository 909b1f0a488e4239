"""The derivatives of functions that move, fold or combine elements. Those of elements stand in the operations table.

Each rule takes the node of a call and the gradient of its result, and yields pairs: an operand, and what it adds to the
gradient of that operand. A gradient may lack axes, or have length 1 along them, where it is the same for all elements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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


def _rule(
    names: str, *parameters: str, is_elementwise: bool = False
) -> Callable[[Callable[[Read, Node, Node], Terms]], Callable[..., Terms]]:
    def add(function: Callable[[Read, Node, Node], Terms]) -> Callable[..., Terms]:
        RULES.update(dict.fromkeys(names.split(), Rule(parameters, function, is_elementwise)))
        return function

    return add


# ---- reductions


def _divisor(read: Read, a: Node, axis: Node | None) -> Node:
    """Return `count` as a float: before NumPy 2, float16 divided by an integer above 255 is float32."""
    return read("float(n)", n=count(read, a, axis))


def count(read: Read, a: Node, axis: Node | None) -> Node:
    """Return the number of elements along an axis, several axes, or all."""
    if axis is None or axis.values[0] is None:
        return read("a.size", a=a)
    if not isinstance(axis.values[0], tuple):
        return read("a.shape[axis]", a=a, axis=axis)
    return read("a.size // np.sum(a, axis=axis).size", a=a, axis=axis)


def _restored(read: Read, node: Node, value: Node) -> Node:
    """Return `value`, of the shape of a reduction's result, with the axes along which it folds."""
    axis, keeps = node.arguments.get("axis"), node.arguments.get("keepdims")
    if axis is None or axis.values[0] is None or (keeps is not None and keeps.values[0]):
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
    if axis.number == -1:
        return read("value[..., None]", value=value)
    return read("np.expand_dims(value, axis)", value=value, axis=axis)


def _are_first(axes: Any, a: Any) -> bool:
    """Return whether axes of an array stand before all others."""
    given = axes if isinstance(axes, tuple) else (axes,)
    return sorted(axis % np.ndim(a) for axis in given) == list(range(len(given)))


def _axis(node: Node) -> Node:
    """Return the axis that a call names."""
    if "axis" not in node.arguments:
        raise KernelError(f"{node.op} without an axis has no derived gradient")
    return node.arguments["axis"]


@_rule("sum", "a", "axis", "keepdims")
def _sum(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], _restored(read, node, g)


@_rule("mean", "a", "axis", "keepdims")
def _mean(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    yield a, read("g / n", g=_restored(read, node, g), n=_divisor(read, a, node.arguments.get("axis")))


@_rule("max amax min amin", "a", "axis", "keepdims")
def _extreme(read: Read, node: Node, g: Node) -> Terms:
    """Share the gradient among the elements that are equal to the extreme one."""
    a, axis = node.arguments["a"], node.arguments.get("axis")
    is_it = read("a == y", a=a, y=_restored(read, node, node))
    if axis is None or axis.values[0] is None:
        ties = read("np.sum(is_it, dtype=a.dtype)", is_it=is_it, a=a)
    else:
        ties = read("np.sum(is_it, axis=axis, keepdims=True, dtype=a.dtype)", is_it=is_it, axis=axis, a=a)
    yield a, read("np.where(is_it, g / ties, 0)", is_it=is_it, ties=ties, g=_restored(read, node, g))


@_rule("var", "a", "axis", "keepdims")
def _var(read: Read, node: Node, g: Node) -> Terms:
    a, axis = node.arguments["a"], node.arguments.get("axis")
    names = {"a": a} if axis is None else {"a": a, "axis": axis}
    mean = read("np.mean(a)" if axis is None else "np.mean(a, axis=axis, keepdims=True)", **names)
    yield a, read("g * (2 * (a - mean) / n)", g=_restored(read, node, g), a=a, mean=mean, n=_divisor(read, a, axis))


@_rule("std", "a", "axis", "keepdims")
def _std(read: Read, node: Node, g: Node) -> Terms:
    for a, term in _var(read, node, g):
        yield a, read("term / (2 * y)", term=term, y=_restored(read, node, node))


@_rule("norm", "a", "ord", "axis", "keepdims")
def _norm(read: Read, node: Node, g: Node) -> Terms:
    order = node.arguments.get("ord")
    if order is not None and order.values[0] not in (None, 2):
        raise KernelError("np.linalg.norm has a derived gradient for the Euclidean norm only")
    names = {"g": _restored(read, node, g), "y": _restored(read, node, node)}
    yield node.arguments["a"], read("g * (a / y)", a=node.arguments["a"], **names)


@_rule("logsumexp", "a", "axis", "keepdims")
def _logsumexp(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    yield a, read("g * np.exp(a - y)", g=_restored(read, node, g), a=a, y=_restored(read, node, node))


@_rule("softmax", "a", "axis")
def _softmax(read: Read, node: Node, g: Node) -> Terms:
    names = {"g": g, "y": node, "axis": _axis(node)}
    yield node.arguments["a"], read("y * (g - np.sum(g * y, axis=axis, keepdims=True))", **names)


@_rule("log_softmax", "a", "axis")
def _log_softmax(read: Read, node: Node, g: Node) -> Terms:
    names = {"g": g, "y": node, "axis": _axis(node)}
    yield node.arguments["a"], read("g - np.exp(y) * np.sum(g, axis=axis, keepdims=True)", **names)


# ---- functions of elements that kernels spell out


@_rule("logistic", "a", is_elementwise=True)
def _logistic(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("g * y * (1 - y)", g=g, y=node)


@_rule("softplus", "a", is_elementwise=True)
def _softplus(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("g * -np.expm1(-y)", g=g, y=node)


@_rule("clip", "a", "a_min", "a_max", is_elementwise=True)
def _clip(read: Read, node: Node, g: Node) -> Terms:
    """Elements at a bound have a gradient."""
    tests = {"a_min": "(a >= a_min)", "a_max": "(a <= a_max)"}
    bounds = {name: node.arguments[name] for name in tests if node.arguments.get(name, node).values[0] is not None}
    bounds = {name: bound for name, bound in bounds.items() if name in node.arguments}
    condition = " & ".join(tests[name] for name in bounds)
    yield node.arguments["a"], read(f"np.where({condition}, g, 0)", g=g, a=node.arguments["a"], **bounds)


# ---- products


@_rule("einsum", "subscripts", "a", "b")
def _einsum(read: Read, node: Node, g: Node) -> Terms:
    subscripts = node.arguments["subscripts"].values[0]
    given, _, result = str(subscripts).replace(" ", "").partition("->")
    inputs = given.split(",")
    operands = [node.arguments[name] for name in "ab"[: len(inputs)]]
    for at, (own, operand) in enumerate(zip(inputs, operands)):
        others = [each for number, each in enumerate(inputs) if number != at]
        if "->" not in str(subscripts) or len(set(own)) < len(own) or not set(own) <= set(result + "".join(others)):
            raise KernelError(
                f"np.einsum({subscripts!r}) has no derived gradient: write '->', and no axis that "
                "occurs once or twice in one operand alone"
            )
        text = f"np.einsum('{','.join([result, *others])}->{own}', g{', other' if others else ''})"
        names = {"other": operands[1 - at]} if others else {}
        yield operand, read(text, g=g, **names)


@_rule("matmul dot", "a", "b")
def _matmul(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    if a.ndims == b.ndims == {1}:
        yield a, read("g * b", g=g, b=b)
        yield b, read("g * a", g=g, a=a)
    elif a.ndims == {2} and b.ndims == {1}:
        yield a, read("g[:, None] * b", g=g, b=b)
        yield b, read("a.T @ g", g=g, a=a)
    elif a.ndims == {1} and b.ndims == {2}:
        yield a, read("b @ g", g=g, b=b)
        yield b, read("a[:, None] * g", g=g, a=a)
    elif a.ndims == b.ndims == {2}:
        yield a, read("g @ b.T", g=g, b=b)
        yield b, read("a.T @ g", g=g, a=a)
    elif b.ndims == {2} and min(a.ndims) > 2 and node.op == "matmul":
        yield a, read("g @ b.T", g=g, b=b)
        yield b, read("a.reshape(-1, a.shape[-1]).T @ g.reshape(-1, g.shape[-1])", g=g, a=a)
    elif [s[:-2] for s in a.shapes] == [s[:-2] for s in b.shapes] and node.op == "matmul":
        yield a, read("g @ np.swapaxes(b, -1, -2)", g=g, b=b)
        yield b, read("np.swapaxes(a, -1, -2) @ g", g=g, a=a)
    else:
        raise KernelError(f"{node!r} broadcasts its operands, and has no derived gradient")


# ---- the order and number of axes


@_rule("transpose permute_dims", "a", "axes")
def _transpose(read: Read, node: Node, g: Node) -> Terms:
    axes = node.arguments.get("axes")
    g = read("g.T", g=g) if axes is None else read("np.transpose(g, np.argsort(axes))", g=g, axes=axes)
    yield node.arguments["a"], g


@_rule("swapaxes", "a", "axis1", "axis2")
def _swapaxes(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.swapaxes(g, axis1, axis2)", g=g, **_rest(node))


@_rule("moveaxis", "a", "source", "destination")
def _moveaxis(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.moveaxis(g, destination, source)", g=g, **_rest(node))


@_rule("squeeze", "a", "axis")
def _squeeze(read: Read, node: Node, g: Node) -> Terms:
    if "axis" in node.arguments:
        yield node.arguments["a"], read("np.expand_dims(g, axis)", g=g, axis=node.arguments["axis"])
    else:
        yield from _reshape(read, node, g)


@_rule("reshape ravel flatten expand_dims", "a", "*")
def _reshape(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("g.reshape(a.shape)", g=g, a=node.arguments["a"])


@_rule("flip", "a", "axis")
def _flip(read: Read, node: Node, g: Node) -> Terms:
    keywords = ", axis=axis" if "axis" in node.arguments else ""
    yield node.arguments["a"], read(f"np.flip(g{keywords})", g=g, **_rest(node))


@_rule("roll", "a", "shift", "axis")
def _roll(read: Read, node: Node, g: Node) -> Terms:
    keywords = ", axis=axis" if "axis" in node.arguments else ""
    yield node.arguments["a"], read(f"np.roll(g, -shift{keywords})", g=g, **_rest(node))


def _rest(node: Node) -> dict[str, Node]:
    return {name: value for name, value in node.arguments.items() if name != "a"}


@_rule("broadcast_to", "a", "shape")
def _broadcast_to(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], g


# ---- along an axis


@_rule("cumsum", "a", "axis")
def _cumsum(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.flip(np.cumsum(np.flip(g, axis), axis), axis)", g=g, axis=_axis(node))


@_rule("tril triu", "a", "k")
def _triangle(read: Read, node: Node, g: Node) -> Terms:
    k = ", k" if "k" in node.arguments else ""
    yield node.arguments["a"], read(f"np.{node.op}(g{k})", g=g, **_rest(node))


@_rule("concatenate", "arrays", "axis")
def _concatenate(read: Read, node: Node, g: Node) -> Terms:
    arrays, axis = node.arguments["arrays"], node.arguments.get("axis", read("0"))
    if not isinstance(axis.number, int) or arrays.op != "tuple":
        raise KernelError("np.concatenate has a derived gradient if its arrays and its axis are written in place")
    before = ":, " * axis.number if axis.number >= 0 else "..., "
    after = "" if axis.number >= 0 else ", :" * (-axis.number - 1)
    *others, last = arrays.operands
    begin: dict[str, Node] = {}
    for each in others:
        end = read("begin + length" if begin else "length", length=read("a.shape[axis]", a=each, axis=axis), **begin)
        yield each, read(f"g[{before}{'begin' if begin else ''}:end{after}]", g=g, end=end, **begin)
        begin = {"begin": end}
    yield last, read(f"g[{before}begin:{after}]", g=g, **begin) if begin else g


@_rule("stack", "arrays", "axis")
def _stack(read: Read, node: Node, g: Node) -> Terms:
    arrays, axis = node.arguments["arrays"], node.arguments.get("axis", read("0"))
    if not isinstance(axis.number, int) or arrays.op != "tuple":
        raise KernelError("np.stack has a derived gradient if its arrays and its axis are written in place")
    before = ":, " * axis.number if axis.number >= 0 else "..., "
    after = "" if axis.number >= 0 else ", :" * (-axis.number - 1)
    for at, each in enumerate(arrays.operands):
        yield each, read(f"g[{before}{at}{after}]", g=g)


@_rule("take", "a", "indices", "axis")
def _take(read: Read, node: Node, g: Node) -> Terms:
    raise KernelError("np.take has a derived gradient along axis 0; write x[:, indices] for others")


@_rule("take_along_axis", "a", "indices", "axis")
def _take_along_axis(read: Read, node: Node, g: Node) -> Terms:
    a, indices = node.arguments["a"], node.arguments["indices"]
    if _axis(node).number != -1 or any(shape[-1] != 1 for shape in indices.shapes):
        raise KernelError("np.take_along_axis has a derived gradient for one index in each line along axis -1")
    yield a, read("np.where(np.arange(a.shape[-1]) == indices % a.shape[-1], g, 0)", a=a, indices=indices, g=g)


@_rule("sort", "a", "axis")
def _sort(read: Read, node: Node, g: Node) -> Terms:
    a, axis = node.arguments["a"], node.arguments.get("axis", read("-1"))
    order = read("np.argsort(a, axis=axis, kind='stable')", a=a, axis=axis)
    places = read("np.argsort(order, axis=axis)", order=order, axis=axis)
    yield a, read("np.take_along_axis(g, places, axis=axis)", g=g, places=places, axis=axis)


@_rule("pad", "a", "pad_width")
def _pad(read: Read, node: Node, g: Node) -> Terms:
    a, widths = node.arguments["a"], node.arguments["pad_width"]
    pairs = widths.operands
    if widths.op != "tuple" or any(pair.op != "tuple" or len(pair.operands) != 2 for pair in pairs):
        raise KernelError("np.pad has a derived gradient for zeros, with a pair of widths for every axis")
    names, slices = {"a": a, "g": g}, []
    for at, pair in enumerate(pairs):
        names[f"begin{at}"] = pair.operands[0]
        whole = all(width.number == 0 for width in pair.operands)
        slices.append(":" if whole else f"begin{at} : begin{at} + a.shape[{at}]")
    yield a, read(f"g[{', '.join(slices)}]", **names)


@_rule("outer", "a", "b")
def _outer(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    if a.ndims != {1} or b.ndims != {1}:
        raise KernelError("np.outer has a derived gradient for arrays with one axis")
    yield a, read("g @ b", g=g, b=b)
    yield b, read("a @ g", g=g, a=a)


@_rule("astype copy ascontiguousarray asarray", "a", "dtype", is_elementwise=True)
def _same(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], g
