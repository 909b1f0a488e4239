"""Construct the nodes of elementwise functions, some of which take several operations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression.axes import Axes
from pykernels.kernel.expression.nodes import Node, NotExpressible, Operation, dtype_of, is_array, operation
from pykernels.kernel.expression.number_rules import may_raise
from pykernels.kernel.expression.operations import BINARY, COMPARISONS, Function

# Up to this exponent, products of floating-point numbers are as accurate as a power.
_LARGEST_POWER = 4
_LARGEST_INTEGER_POWER = 64
_COMPARING = frozenset(function.name for function in COMPARISONS.values())


def apply(function: Function, operands: Sequence[Any], axes: Axes) -> Any:
    """Apply an elementwise function: return the node of an operation, or a value if all operands are known now.

    Raises
    ------
    NotExpressible
        NumPy refuses the operands, or the function has no elementwise form for them.
    """
    if not any(isinstance(operand, Node) for operand in operands):
        return compute(function.function, operands)
    made = _operation_of(function, operands)
    _require_plain(made, axes)
    return axes.once(made, function.name, made.dtype, *operands)


def _require_plain(made: Operation, axes: Axes) -> None:
    """Refuse operations of complex numbers that vectors do not compute."""
    dtypes = list(map(dtype_of, made.operands))
    if all(dtype.kind != "c" for dtype in (made.dtype, *dtypes)):
        return
    is_lost = made.name == "convert" and made.dtype.kind != "c"
    if axes.has_ranks or is_lost or (made.name == "where" and dtypes[0].kind == "c"):
        raise NotExpressible("it computes with complex numbers")


def compute(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Return what a function gives for known values."""
    if any(map(_has_nodes, values)):
        raise NotExpressible
    try:
        with np.errstate(all="ignore"):
            return function(*values)
    except Exception as error:
        raise NotExpressible(f"{type(error).__name__}: {error}") from error


def _has_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, tuple) and any(map(_has_nodes, value)))


def _operation_of(function: Function, operands: Sequence[Any]) -> Operation:
    if function.name == "clip":
        return _clip(*operands)
    for operand in operands:
        if not isinstance(operand, (Node, bool, int, float, complex, np.generic)):
            raise NotExpressible(f"{type(operand).__name__} among numbers")
    compared = _compare_exactly(function, operands) if function.name in _COMPARING else None
    if compared is not None:
        return compared
    made = operation(function, operands)
    if function.name == "power" and not may_raise(made):
        made = _as_products(made, *operands)
    if made.name in ("power", "reciprocal") and made.dtype.kind != "f":
        raise NotExpressible("a power of integers")
    return made


def convert(value: Node, sample: Any, axes: Axes) -> Node:
    """Convert a value to the type of the sample."""
    is_rounded = np.asarray(sample).dtype == np.float16 != dtype_of(value)
    made = operation(Function("to_half" if is_rounded else "convert", lambda _: sample), [value])
    _require_plain(made, axes)
    return axes.once(made, "convert", made.dtype, value)


def _compare_exactly(function: Function, operands: Sequence[Any]) -> Operation | None:
    """Compare integers with a Python integer that their dtype may not hold; None for all other operands."""
    at = next((at for at, each in enumerate(operands) if type(getattr(each, "sample", each)) is int), None)
    if at is None or type(getattr(operands[1 - at], "sample", operands[1 - at])) in (bool, int, float):
        return None
    number, other = operands[at], operands[1 - at]
    dtype = dtype_of(other)
    if dtype.kind not in "iu" or dtype == np.int64:
        return None
    limits = np.iinfo(dtype)

    def compare(a: Any, b: Any) -> Operation:
        return operation(function, [b, a] if at else [a, b])

    if not isinstance(number, Node):
        if limits.min <= number <= limits.max:
            return None
        always = function.function(*((0, number) if at else (number, 0)))
        return operation(COMPARISONS[ast.Eq if always else ast.NotEq], [other, other])
    narrow = Operation(dtype.type(1), name="wrap", operands=(number,), dtype=dtype)
    above = operation(COMPARISONS[ast.GtE], [number, int(limits.min)])
    below = operation(COMPARISONS[ast.LtE], [number, int(min(limits.max, np.iinfo(np.int64).max))])
    fits = operation(Function("logical_and", np.logical_and), [above, below])
    return operation(Function("where", np.where), [fits, compare(narrow, other), compare(number, 0)])


def power_operator(base: Node, exponent: Any) -> tuple[Function, list[Any]]:
    """Return ``base ** exponent``, for which NumPy takes shortcuts that `np.power` does not."""
    if is_array(base) and dtype_of(base).kind == "f" and _is_number(exponent):
        for name, number in (("sqrt", 0.5), ("reciprocal", -1)):
            if exponent == number:
                return Function(name, lambda x: x**exponent), [base]
    return BINARY[ast.Pow], [base, exponent]


def _clip(value: Any, low: Any = None, high: Any = None) -> Operation:
    """Clip in two steps, in the dtype to which all three promote."""
    bounds = {name: bound for name, bound in (("maximum", low), ("minimum", high)) if bound is not None}
    if not bounds:
        raise NotExpressible("a clip without bounds")

    def clip(value: Any, *given: Any) -> Any:
        return np.clip(value, None if low is None else given[0], None if high is None else given[-1])

    result = operation(Function("clip", clip), [value, *bounds.values()])
    sample, dtype = result.sample, result.dtype
    for name, bound in bounds.items():
        if type(getattr(bound, "sample", bound)) is int and dtype.kind in "iu":
            bound = _within(name, bound, np.iinfo(dtype))
        result = Operation(sample, name=name, operands=(value, bound), dtype=dtype)
        value = result
    return result


def _within(name: str, bound: Any, limits: np.iinfo) -> Any:
    """Return a bound of a clip; a Python integer beyond the dtype's limit on its own side has no effect."""
    limit, function = (limits.min, max) if name == "maximum" else (min(limits.max, np.iinfo(np.int64).max), min)
    operands = [bound, int(limit)]
    return operation(Function(name, function), operands) if isinstance(bound, Node) else function(*operands)


def _as_products(power: Operation, base: Any, exponent: Any) -> Operation:
    """Return a power, as products if the exponent is a small whole number: much faster, and integers wrap alike."""
    largest = _LARGEST_POWER if power.dtype.kind in "fc" else _LARGEST_INTEGER_POWER
    if not _is_number(exponent) or not 1 <= exponent <= largest or exponent != int(exponent):
        return power
    factor = operation(Function("convert", lambda _: power.sample), [base])
    result, multiply = factor, BINARY[ast.Mult]
    for bit in f"{int(exponent):b}"[1:]:
        result = operation(multiply, [result, result])
        if bit == "1":
            result = operation(multiply, [result, factor])
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
