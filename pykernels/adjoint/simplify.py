"""Simplify expressions as they are built, as a person would on paper."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from pykernels.adjoint.nodes import Node, Read
from pykernels.adjoint.respelling import RESPELLED
from pykernels.adjoint.rules import beside, count, folded

# The modes of np.pad that repeat elements.
_REPEATING = frozenset({"edge", "reflect", "symmetric", "wrap"})


def simplified(read: Read, op: str, operands: Sequence[Node], arguments: Mapping[str, Node]) -> Node | None:
    """Return a simpler node for an operation on `operands`, or None. Those of a function with a rule have names."""
    rule = _RULES.get(op) or (RESPELLED.get(op) if any(operand.active for operand in operands) else None)
    if rule is None:
        return None
    return rule(read, **arguments) if arguments else rule(read, *operands)


def _negated(node: Node) -> Node | None:
    """Return `a` if the node is ``-a``."""
    return node.operands[0] if node.op == "negative" else None


def _is_quotient(node: Node) -> bool:
    return node.op == "divide"


def _add(read: Read, a: Node, b: Node) -> Node | None:
    if a.number is not None and b.number is not None:
        return read(repr(a.number + b.number))
    if b.number == 0:
        return a
    if a.number == 0:
        return b
    minus = _negated(b)
    if minus is not None:
        return read("a - b", a=a, b=minus)
    minus = _negated(a)
    if minus is not None:
        return read("b - a", a=minus, b=b)
    if a is b:
        return read("2 * a", a=a)
    if a.op == "add" and b in a.operands:
        return read("a + 2 * b", a=a.operands[a.operands[0] is b], b=b)
    if a.op == b.op == "where" and a.operands[0] is b.operands[0]:
        if a.operands[2].number == 0 and b.operands[1].number == 0:
            return read("np.where(c, a, b)", c=a.operands[0], a=a.operands[1], b=b.operands[2])
        if a.operands[1].number == 0 and b.operands[2].number == 0:
            return read("np.where(c, a, b)", c=a.operands[0], a=b.operands[1], b=a.operands[2])
    return None


def _subtract(read: Read, a: Node, b: Node) -> Node | None:
    if a.number is not None and b.number is not None:
        return read(repr(a.number - b.number))
    if b.number == 0:
        return a
    if a.number == 0:
        return read("-b", b=b)
    if a.op == "subtract" and a.operands[1] is b:
        return read("a - 2 * b", a=a.operands[0], b=b)
    if _negated(a) is b:
        return read("-2 * b", b=b)
    minus = _negated(b)
    return None if minus is None else read("a + b", a=a, b=minus)


def _multiply(read: Read, a: Node, b: Node) -> Node | None:
    if a.number is not None and b.number is not None:
        return read(repr(a.number * b.number))
    for one, other in ((a, b), (b, a)):
        if one.number == 1:
            return other
        if one.number == -1:
            return read("-a", a=other)
        minus = _negated(one)
        if minus is not None:
            return read("-(a * b)", a=minus if one is a else a, b=minus if one is b else b)
        if _is_quotient(other) and other.operands[0].number == 1:
            return read("a / b", a=one, b=other.operands[1])
        whole = _whole(read, one, other)
        if whole is not None:
            return whole
        factor, numerator = _factor(one), other.operands[0].number if _is_quotient(other) else None
        if factor is not None and numerator is not None:
            return read("n * a / b", n=read(repr(factor * numerator)), a=one.operands[1], b=other.operands[1])
        if other.op == "where" and 0 in (other.operands[1].number, other.operands[2].number):
            c, yes, no = other.operands
            yes, no = (each if each.number == 0 else read("a * b", a=one, b=each) for each in (yes, no))
            return read("np.where(c, a, b)", c=c, a=yes, b=no)
    # Numbers come first.
    if b.number is not None and a.number is None:
        return read("b * a", a=a, b=b)
    coefficient = _coefficient(read, b)
    if coefficient is not None:
        return read("n * a * b", n=coefficient[0], a=a, b=coefficient[1])
    if a.number is not None and b.op == "multiply":
        return read("n * a * b", n=a, a=b.operands[0], b=b.operands[1])
    return None


def _whole(read: Read, node: Node, divisor: Node) -> Node | None:
    """Return what a node divides by `divisor`: ``a`` for ``a / divisor``, and ``a * b`` for ``a / divisor * b``.

    That is finite where the divisor is 0 or infinite.
    """
    whole = None
    if _is_quotient(node) and node.operands[1] is divisor:
        whole = node.operands[0]
    elif node.op == "multiply":
        for at in (0, 1):
            factor = _whole(read, node.operands[at], divisor)
            if factor is not None:
                left, right = (factor, node.operands[1]) if at == 0 else (node.operands[0], factor)
                whole = read("a * b", a=left, b=right)
                break
    return whole if whole is not None and (whole.shapes, whole.dtypes) == (node.shapes, node.dtypes) else None


def _coefficient(read: Read, node: Node) -> tuple[Node, Node] | None:
    """Return the number that a product begins with, and the rest of the product."""
    if node.op != "multiply":
        return None
    a, b = node.operands
    if a.number is not None:
        return a, b
    found = _coefficient(read, a)
    return None if found is None else (found[0], read("a * b", a=found[1], b=b))


def _factor(node: Node) -> float | int | None:
    """Return the number by which a node is multiplied."""
    return node.operands[0].number if node.op == "multiply" else None


def _divide(read: Read, a: Node, b: Node) -> Node | None:
    if b.number == 1:
        return a
    minus = _negated(a)
    if minus is not None:
        return read("-(a / b)", a=minus, b=b)
    e = _exponential(b)
    if e is not None and a is not e and a.number != 1:
        # Finite where exp overflows.
        return read("a * (1 / b)", a=a, b=b)
    if a.op == "multiply":
        # The mean of a factor.
        for at in (0, 1):
            mean = _mean(read, a.operands[at], b)
            if mean is not None:
                return read("a * b", a=mean, b=a.operands[1 - at])
    if a.op == "where" and 0 in (a.operands[1].number, a.operands[2].number):
        c, *parts = a.operands
        yes, no = (each if each.number == 0 else read("a / b", a=each, b=b) for each in parts)
        return read("np.where(c, a, b)", c=c, a=yes, b=no)
    return _mean(read, a, b)


def _exponential(node: Node) -> Node | None:
    """Return ``exp(-x)`` if the node is ``1 + exp(-x)``."""
    if node.op != "add":
        return None
    a, b = node.operands
    e = b if a.number == 1 else a if b.number == 1 else None
    return e if e is not None and e.op == "exp" and e.operands[0].op == "negative" else None


def _mean(read: Read, a: Node, b: Node) -> Node | None:
    """Return the mean for a sum that is divided by the number of its terms."""
    if a.op != "sum" or b.active or not b.operands:
        return None
    if isinstance(b.form, ast.Call) and ast.unparse(b.form.func) == "float":
        b = b.operands[0]
    terms = a.arguments["a"]
    if not _counts_alike(count(read, terms, folded(a)), b):
        return None
    named = {key: a.arguments[key] for key in ("axis", "keepdims") if key in a.arguments}
    keywords = "".join(f", {key}={key}" for key in named)
    return read(f"np.mean(a{keywords})", a=terms, **named)


def _counts_alike(a: Node, b: Node) -> bool:
    """Whether two nodes are the same expression of the shapes of two arrays, which are equal."""
    if a is b:
        return True
    if ast.dump(a.form) != ast.dump(b.form) or len(a.operands) != len(b.operands) or not a.operands:
        return a.shapes == b.shapes and bool(a.shapes[0])
    return all(map(_counts_alike, a.operands, b.operands))


def _negative(read: Read, a: Node) -> Node | None:
    if a.number is not None:
        return read(repr(-a.number))
    if a.op == "subtract":
        return read("b - a", a=a.operands[0], b=a.operands[1])
    if a.op == "where" and 0 in (a.operands[1].number, a.operands[2].number):
        c, *parts = a.operands
        yes, no = (each if each.number == 0 else read("-a", a=each) for each in parts)
        return read("np.where(c, a, b)", c=c, a=yes, b=no)
    return _negated(a)


def _transpose(read: Read, a: Node, axes: Node | None = None) -> Node | None:
    if axes is not None:
        return None
    if a.op == "transpose" and len(a.operands) == 1:
        return a.operands[0]
    if a.op == "matmul" and a.ndims == a.operands[0].ndims == a.operands[1].ndims == {2}:
        return read("b.T @ a.T", a=a.operands[0], b=a.operands[1])
    return None


def _flip(read: Read, a: Node, axis: Node | None = None) -> Node | None:
    is_back = a.op == "flip" and axis is not None and axis.number is not None and "axis" in a.arguments
    return a.arguments["a"] if is_back and axis and a.arguments["axis"].number == axis.number else None


def _swapaxes(read: Read, a: Node, axis1: Node, axis2: Node) -> Node | None:
    axes = (axis1, axis2)
    is_back = a.op == "swapaxes" and {each.values for each in axes} == {each.values for each in a.operands[1:]}
    if is_back:
        return a.operands[0]
    if a.op == "matmul" and {each.number for each in axes} == {-1, -2}:
        first, second = (read("np.swapaxes(a, -1, -2)", a=each) for each in a.operands)
        return read("b @ a", a=first, b=second)
    return None


def _power(read: Read, a: Node, b: Node) -> Node | None:
    return a if b.number == 1 else read(repr(1)) if b.number == 0 else None


def _where(read: Read, condition: Node, a: Node, b: Node) -> Node | None:
    return a if a is b else None


def _take(read: Read, a: Node, indices: Node, axis: Node | None = None) -> Node | None:
    if axis is None:
        return read("np.ravel(a)[indices]", a=a, indices=indices)
    if not isinstance(axis.number, int):
        return None
    before, after = beside(axis.number)
    return read(f"a[{before}indices{after if axis.number < 0 else ''}]", a=a, indices=indices)


def _take_along_axis(read: Read, a: Node, indices: Node, axis: Node | None = None) -> Node | None:
    """Return an index of arrays, but for one index a line, whose gradient is plainer."""
    is_plain = axis is not None and axis.number == -1 and all(shape[-1] == 1 for shape in indices.shapes)
    if axis is None or not isinstance(axis.number, int) or len(a.ndims) > 1 or is_plain:
        return None
    (ndim,) = a.ndims
    places = []
    for at in range(ndim):
        turned = f".reshape(-1{', 1' * (ndim - 1 - at)})" if at < ndim - 1 else ""
        places.append("indices" if at == axis.number % ndim else f"np.arange(a.shape[{at}]){turned}")
    return read(f"a[{', '.join(places)}]", a=a, indices=indices)


def _pad(read: Read, a: Node, pad_width: Node, mode: Node | None = None, **rest: Node) -> Node | None:
    """Return indices of the elements that padding repeats, which add up in the gradient."""
    pairs = _pairs(read, a, pad_width)
    if pairs is not None:
        named = rest if mode is None else {"mode": mode, **rest}
        return read(f"np.pad(a, pairs{''.join(f', {key}={key}' for key in named)})", a=a, pairs=pairs, **named)
    is_known = pad_width.op == "tuple" and all(pair.op == "tuple" for pair in pad_width.operands)
    if mode is None or mode.values[0] not in _REPEATING or not is_known:
        return None
    for axis, pair in enumerate(pad_width.operands):
        if any(width.number != 0 for width in pair.operands):
            places = read(f"np.pad(np.arange(a.shape[{axis}]), pair, mode)", a=a, pair=pair, mode=mode)
            a = read(f"a[{':, ' * axis}places]", a=a, places=places)
    return a


def _pairs(read: Read, a: Node, pad_width: Node) -> Node | None:
    """Return a pair of widths for every axis, for one that all have; None if there are such pairs already."""
    width = pad_width
    if len(a.ndims) > 1 or not a.active or 0 in a.ndims:
        return None
    if width.op == "tuple":
        if any(operand.op == "tuple" for operand in width.operands) or len(width.operands) != 2:
            return None
        begin, end = width.operands
    elif width.ndims == {0}:
        begin = end = width
    else:
        return None
    (ndim,) = a.ndims
    return read(f"({', '.join(['(begin, end)'] * ndim)},)", begin=begin, end=end)


def _diag(read: Read, v: Node, k: Node | None = None) -> Node | None:
    """Return an index of elements, but for square matrices, whose gradient is plainer."""
    if not v.active or k is not None or v.ndims != {2} or all(n == m for n, m in v.shapes):
        return None
    places = read("np.arange(min(v.shape))", v=v)
    places.name = places.name or "places"
    return read("v[places, places]", v=v, places=places)


def _trace(read: Read, a: Node) -> Node | None:
    return read("np.sum(np.diag(a))", a=a) if a.active and a.ndims == {2} else None


def _diagonal(read: Read, a: Node) -> Node | None:
    return read("np.diag(a)", a=a) if a.active and a.ndims == {2} else None


def _median(read: Read, a: Node, axis: Node | None = None, keepdims: Node | None = None) -> Node | None:
    """Return the mean of the elements in the middle."""
    if axis is None and keepdims is None:
        return _median(read, read("a.ravel()", a=a), read("-1")) if a.active else None
    if not a.active or axis is None or not isinstance(axis.number, int):
        return None
    before, after = beside(axis.number)
    ordered, n = read("np.sort(a, axis=axis)", a=a, axis=axis), read("a.shape[axis]", a=a, axis=axis)
    ordered.name, n.name = ordered.name or "ordered", n.name or "n"
    middle = (read(f"s[{before}{at}{after}]", s=ordered, n=n) for at in ("(n - 1) // 2", "n // 2"))
    median = read("(a + b) / 2", **dict(zip("ab", middle)))
    if keepdims is None or not keepdims.values[0]:
        return median
    return read("np.expand_dims(median, axis)", median=median, axis=axis)


_RULES: dict[str, Callable[..., Node | None]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "power": _power,
    "where": _where,
    "pad": _pad,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "flip": _flip,
    "diag": _diag,
    "diagonal": _diagonal,
    "trace": _trace,
    "median": _median,
}
