"""The functions and operators that kernels may apply element by element, with their names in expressions."""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BINARY", "COMPARISONS", "CONVERSIONS", "LIKE", "STATIC", "UNARY", "Function", "find", "in_common"]


@dataclass(frozen=True)
class Function:
    """An elementwise function.

    Attributes
    ----------
    name : str
        What it is called in `vector_code.OPERATIONS`.
    function : callable
        NumPy's or Python's own, which tells the dtype of the result.
    computed_in : callable or None
        Gives the dtype to compute in, out of samples of the operands; None where it is that of the result.
    """

    name: str
    function: Callable[..., Any]
    computed_in: Callable[..., Any] | None = None


def in_common(*operands: Any) -> np.dtype:
    """The dtype in which operands are compared."""
    return np.result_type(*operands)


def _in_its_own(operand: Any) -> np.dtype:
    return np.asarray(operand).dtype


def _in_bool(*operands: Any) -> np.dtype:
    return np.dtype(np.bool_)


#: NumPy's names, where they differ from the operation's.
_ALIASES = {
    "true_divide": "divide",
    "mod": "remainder",
    "abs": "absolute",
    "fabs": "absolute",
    "bitwise_not": "invert",
    "conjugate": "positive",
    "copy": "positive",
    "float_power": "power",
    "round": "rint",
    "round_": "rint",
    "around": "rint",
}
_ARITHMETIC = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power", "maximum", "minimum"),
    *("fmax", "fmin", "negative", "positive", "absolute", "sign", "square", "reciprocal", "sqrt", "floor", "ceil"),
    *("trunc", "rint", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "copysign"),
    *("heaviside", "logaddexp", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin"),
    *("arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "arctan2", "hypot"),
    *_ALIASES,
)
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
_LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
_SCIPY = ("erf", "erfc", "expit")
_MATH = {
    **{name: name for name in ("exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh")},
    **{name: name for name in ("cosh", "tanh", "erf", "erfc", "copysign", "hypot")},
    **{name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    "fabs": "absolute",
}


@functools.cache
def _table() -> Mapping[Any, Function]:
    table = {
        getattr(np, name): Function(_ALIASES.get(name, name), getattr(np, name))
        for name in _ARITHMETIC
        if hasattr(np, name)
    }
    for names, computed_in in ((_COMPARISONS, in_common), (_PREDICATES, _in_its_own), (_LOGICAL, _in_bool)):
        table |= {getattr(np, name): Function(name, getattr(np, name), computed_in) for name in names}
    table |= {getattr(math, name): Function(called, _of_numbers(getattr(math, name))) for name, called in _MATH.items()}
    table[np.where] = Function("where", np.where)
    table[np.clip] = Function("clip", np.clip)
    table[builtins.abs] = Function("absolute", operator.abs)
    return table


@functools.cache
def _scipy_table() -> Mapping[Any, Function]:
    special = sys.modules["scipy.special"]
    return {getattr(special, name): Function(name, getattr(special, name)) for name in _SCIPY}


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which takes no arrays, not even of one element."""

    def checked(*operands: Any) -> Any:
        if any(isinstance(operand, np.ndarray) for operand in operands):
            raise TypeError(f"math.{function.__name__} takes numbers, not arrays")
        return function(*operands)

    return checked


def find(function: Any) -> Function | None:
    """The elementwise function that a function of NumPy, SciPy or Python stands for; None if it is not one."""
    try:
        found = _table().get(function)
    except TypeError:  # unhashable
        return None
    # A kernel that uses SciPy has imported it.
    if found is None and "scipy.special" in sys.modules:
        found = _scipy_table().get(function)
    return found


BINARY: Mapping[type[ast.AST], Function] = {
    ast.Add: Function("add", operator.add),
    ast.Sub: Function("subtract", operator.sub),
    ast.Mult: Function("multiply", operator.mul),
    ast.Div: Function("divide", operator.truediv),
    ast.FloorDiv: Function("floor_divide", operator.floordiv),
    ast.Mod: Function("remainder", operator.mod),
    ast.Pow: Function("power", operator.pow),
    ast.BitAnd: Function("bitwise_and", operator.and_),
    ast.BitOr: Function("bitwise_or", operator.or_),
    ast.BitXor: Function("bitwise_xor", operator.xor),
    ast.LShift: Function("left_shift", operator.lshift),
    ast.RShift: Function("right_shift", operator.rshift),
}
UNARY: Mapping[type[ast.AST], Function] = {
    ast.USub: Function("negative", operator.neg),
    ast.UAdd: Function("positive", operator.pos),
    ast.Invert: Function("invert", operator.invert),
}
COMPARISONS: Mapping[type[ast.AST], Function] = {
    ast.Eq: Function("equal", operator.eq, in_common),
    ast.NotEq: Function("not_equal", operator.ne, in_common),
    ast.Lt: Function("less", operator.lt, in_common),
    ast.LtE: Function("less_equal", operator.le, in_common),
    ast.Gt: Function("greater", operator.gt, in_common),
    ast.GtE: Function("greater_equal", operator.ge, in_common),
}

#: Arrays of the shape of another, and what they are filled with.
LIKE: Mapping[Any, int | None] = {np.zeros_like: 0, np.ones_like: 1, np.full_like: None}

#: Types that convert a number.
CONVERSIONS = (bool, int, float, *(np.dtype(code).type for code in "?bhilqBHILQefd"))

#: What else may be called on values that are all known.
STATIC = (len, min, max, round, isinstance, np.dtype, np.finfo, np.iinfo, *CONVERSIONS)
