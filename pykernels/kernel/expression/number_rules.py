"""Find the operations on scalar arguments that may raise an exception, as they do in Python or NumPy.

Attributes and lengths are Python numbers. A division by zero raises an exception, as does a number that the dtype of
the array cannot hold. Machine code would continue with another number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Extent, operands_of
from pykernels.kernel.expression.nodes import Keyword, Node, Operation, dtype_of, in_order, is_array
from pykernels.kernel.expression.operations import OPERATIONS, Raises


def is_chosen_safely(value: Any) -> bool:
    """Whether a number may be computed even where a choice does not select it."""
    nodes = in_order([value], operands_of) if isinstance(value, Node) else []
    return all(may_raise(node) in (None, Raises.OVERFLOW) for node in nodes)


def _is_pythons(value: Any) -> bool:
    return type(value.sample if isinstance(value, Node) else value) in (bool, int, float)


def is_given(value: Any) -> bool:
    """Whether a number depends on attributes and lengths alone, not on elements of arrays."""
    if isinstance(value, Operation):
        return not is_array(value) and all(map(is_given, value.operands))
    return not isinstance(value, Node) or isinstance(value, (Keyword, Extent))


def may_raise(node: Node) -> Raises | None:
    """Return where a node raises an exception, if it is an operation on Python numbers that may."""
    if not isinstance(node, Operation) or is_array(node) or not all(map(_is_pythons, (node, *node.operands))):
        return None
    raises = OPERATIONS[node.name].raises
    if raises is Raises.DIVISION:
        divisor = node.operands[-1]
        return raises if isinstance(divisor, Node) or not divisor else None
    if raises is Raises.CONVERSION:
        return raises if dtype_of(node) == np.int64 and dtype_of(node.operands[0]).kind == "f" else None
    return raises if (raises is Raises.RESULT) == (node.dtype.kind == "f") else None


def narrowed(node: Node) -> list[Node]:
    """Return the operands of an operation that are Python integers and are converted to another dtype."""
    if not isinstance(node, Operation) or node.dtype.kind not in "iu" or node.dtype == np.int64:
        return []
    if node.name == "wrap":
        return []
    return [each for each in node.operands if isinstance(each, Node) and type(each.sample) is int and is_given(each)]
