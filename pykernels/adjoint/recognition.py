"""Recognise functions that kernels spell out: their derivatives are shorter and more precise than those of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pykernels.adjoint.nodes import Node

Found = tuple[str, Mapping[str, Node]]


def recognised(op: str, operands: Sequence[Node]) -> Found | None:
    """Return the name in `moves.RULES` of the function that an operation completes, and its arguments, or None."""
    recognise = _BY_OPERATION.get(op)
    return None if recognise is None else recognise(*operands)


def _divide(a: Node, b: Node) -> Found | None:
    # 1 / (1 + exp(-x))
    e = _other_term(b, 1)
    if a.number == 1 and e is not None and e.op == "exp" and e.operands[0].op == "negative":
        return "logistic", {"a": e.operands[0].operands[0]}
    # e / e.sum(axis, keepdims=True), e = exp(x - x.max(axis, keepdims=True))
    if b.op == "sum" and b.kept is not None and b.arguments["a"] is a and a.op == "exp":
        return "softmax", {"a": _without_top(a.operands[0], b.kept), "axis": b.kept}
    return None


def _where(condition: Node, a: Node, b: Node) -> Found | None:
    # np.where(x >= 0, 1 / (1 + e), e / (1 + e)), e = exp(-abs(x))
    if condition.op != "compare" or a.op != "logistic" or b.op != "divide" or a.operands[1] is not b.operands[1]:
        return None
    x, size = condition.operands[0], a.arguments["a"]
    is_whole = condition.operands[1].number == 0 and b.operands[0] is _other_term(b.operands[1], 1)
    return ("logistic", {"a": x}) if is_whole and size.op == "absolute" and size.operands[0] is x else None


def _log1p(a: Node) -> Found | None:
    return ("softplus", {"a": a.operands[0]}) if a.op == "exp" else None


def _log(a: Node) -> Found | None:
    e = _other_term(a, 1)
    return None if e is None else _log1p(e)


def _add(a: Node, b: Node) -> Found | None:
    for one, other in ((a, b), (b, a)):
        if other.op == "softplus" and one.op == "maximum" and one.operands[1].number == 0:
            # maximum(x, 0) + log1p(exp(-abs(x)))
            x, inner = one.operands[0], other.arguments["a"]
            if inner.op == "negative" and inner.operands[0].op == "absolute" and inner.operands[0].operands[0] is x:
                return "softplus", {"a": x}
        top = one.operands[0] if one.op in ("squeeze", "getitem") else one
        if other.op == "log" and other.operands[0].op == "sum" and top is not one and top.op in ("max", "amax"):
            # m.squeeze(axis) + log(exp(x - m).sum(axis)), m = x.max(axis, keepdims=True)
            terms, axis = other.operands[0].arguments["a"], other.operands[0].arguments.get("axis")
            is_whole = axis is not None and axis is top.kept and other.operands[0].kept is None
            if is_whole and terms.op == "exp" and _without_top(terms.operands[0], top.kept) is top.arguments["a"]:
                parts = {"e": terms, "total": other.operands[0]}
                return "logsumexp", {"a": top.arguments["a"], "axis": top.arguments["axis"], **parts}
        if other.op == "log" and other.operands[0].op == "sum" and one.op in ("max", "amax"):
            # m + log(exp(x - m).sum(axis, keepdims=True)), m = x.max(axis, keepdims=True)
            terms, axis = other.operands[0].arguments["a"], other.operands[0].kept
            if axis is not None and terms.op == "exp" and _without_top(terms.operands[0], axis) is one.arguments["a"]:
                parts = {"e": terms, "total": other.operands[0], "keepdims": one.arguments["keepdims"]}
                return "logsumexp", {"a": one.arguments["a"], "axis": axis, **parts}
    return None


def _subtract(a: Node, b: Node) -> Found | None:
    # z - log(exp(z).sum(axis, keepdims=True)), z = x - x.max(axis, keepdims=True)
    if b.op == "log" and b.operands[0].op == "sum" and b.operands[0].kept is not None:
        terms, axis = b.operands[0].arguments["a"], b.operands[0].kept
        if terms.op == "exp" and terms.operands[0] is a:
            return "log_softmax", {"a": _without_top(a, axis), "axis": axis, "e": terms, "total": b.operands[0]}
    if b.op == "logsumexp" and b.arguments["a"] is a and b.kept is not None:
        return "log_softmax", {**b.arguments, "axis": b.kept}
    return None


def _other_term(node: Node, number: int) -> Node | None:
    """Return the other operand of a sum with a number."""
    if node.op != "add" or len(node.operands) != 2:
        return None
    a, b = node.operands
    return b if a.number == number else a if b.number == number else None


def _without_top(node: Node, axis: Node | None) -> Node:
    """Return `x` if the node is ``x - x.max(axis, keepdims=True)``, else the node."""
    if node.op != "subtract":
        return node
    x, top = node.operands
    is_top = top.op in ("max", "amax") and top.kept is axis and top.arguments["a"] is x
    return x if is_top else node


_BY_OPERATION: dict[str, Callable[..., Found | None]] = {
    "divide": _divide,
    "where": _where,
    "log1p": _log1p,
    "log": _log,
    "add": _add,
    "subtract": _subtract,
}
