"""Which operations on the numbers that a kernel is given may raise: where Python does, or NumPy.

Attributes and lengths are Python's numbers. Divided by zero, or too large for the dtype of the array that they meet,
they raise an exception, where machine code would go on with some other number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Extent, operands_of
from pykernels.kernel.expression.nodes import Keyword, Node, Operation, dtype_of, is_array

__all__ = ["DIVISIONS", "OVERFLOWING", "is_chosen_safely", "is_given", "may_raise", "narrowed", "reachable"]

DIVISIONS = frozenset(("divide", "floor_divide", "remainder", "reciprocal"))
OVERFLOWING = {"add": "sadd", "subtract": "ssub", "multiply": "smul"}
# Python's own functions of floating-point numbers raise where NumPy's give NaN or infinity.
_FUNCTIONS = {
    *("power", "sqrt", "hypot", "exp", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"),
}


def is_chosen_safely(value: Any) -> bool:
    """Whether a number may be computed where it is not chosen in the end."""
    nodes = reachable([value]) if isinstance(value, Node) else []
    return not any(may_raise(node) for node in nodes if getattr(node, "name", "") not in OVERFLOWING)


def reachable(nodes: Iterable[Node]) -> list[Node]:
    """The nodes, and all that they are computed from."""
    found: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.order not in found:
            found[node.order] = node
            waiting += operands_of(node)
    return [found[order] for order in sorted(found)]


def _is_pythons(value: Any) -> bool:
    return type(value.sample if isinstance(value, Node) else value) in (bool, int, float)


def is_given(value: Any) -> bool:
    """Whether a number follows from attributes and lengths alone, not from elements of arrays."""
    if isinstance(value, Operation):
        return not is_array(value) and all(map(is_given, value.operands))
    return not isinstance(value, Node) or isinstance(value, (Keyword, Extent))


def may_raise(node: Node) -> bool:
    """Whether it is an operation on Python's numbers that may raise."""
    if not isinstance(node, Operation) or is_array(node) or not all(map(_is_pythons, (node, *node.operands))):
        return False
    if node.name == "convert":
        return dtype_of(node) == np.int64 and dtype_of(node.operands[0]).kind == "f"
    if node.dtype.kind == "f":
        return node.name in _FUNCTIONS or (node.name in DIVISIONS and not _is_nonzero(node.operands[-1]))
    if node.name in DIVISIONS:
        return not _is_nonzero(node.operands[-1])
    return node.name in OVERFLOWING or node.name in ("left_shift", "right_shift")


def _is_nonzero(value: Any) -> bool:
    return not isinstance(value, Node) and bool(value)


def narrowed(node: Node) -> list[Node]:
    """The operands of an operation that are Python's integers, and become numbers of another dtype."""
    if not isinstance(node, Operation) or node.dtype.kind not in "iu" or node.dtype == np.int64:
        return []
    if node.name == "wrap":
        return []
    return [each for each in node.operands if isinstance(each, Node) and type(each.sample) is int and is_given(each)]
