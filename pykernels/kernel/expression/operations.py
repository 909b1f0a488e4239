"""The table of operations that kernels may use on elements and numbers.

A row holds an operation's names in NumPy, Python and C, the dtype in which it is computed, its cost, where it raises,
and what computes it in numba-compiled code. `emit.vector_operations.EMITTERS` has its instructions.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

_Found = TypeVar("_Found")


class Cost(enum.IntEnum):
    """How long an operation takes."""

    LOW = 0
    #: Computed once for all elements that share the result.
    MODERATE = 1
    #: Stored for later passes over the elements, too.
    HIGH = 2


class Raises(enum.Enum):
    """Where an operation on Python's numbers raises an exception."""

    DIVISION = "the last operand is 0"
    OVERFLOW = "a whole number needs more than 64 bits"
    SHIFT = "a whole number is shifted by less than 0, or beyond 64 bits"
    CONVERSION = "a floating-point number is NaN, or beyond 64 bits as a whole number"
    RESULT = "a floating-point result of finite operands is NaN or infinite"


class Loops(enum.Enum):
    """What computes an operation in numba-compiled code."""

    NUMBA = enum.auto()
    OURS_FOR_INTEGERS = enum.auto()
    OURS = enum.auto()


@dataclass(frozen=True)
class Function:
    """A function or operator, and the operation for which it stands."""

    #: The name of the operation.
    name: str
    #: NumPy's or Python's function, which determines the dtype of the result.
    function: Callable[..., Any]
    #: Takes samples of the operands and returns the dtype to compute in; None for the dtype of the result.
    computed_in: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Properties:
    """A row of the table."""

    #: The name of the operation and of its NumPy function.
    name: str
    #: Further functions for it.
    aliases: tuple[str, ...] = ()
    #: The module of these functions; empty for operations that only expressions have.
    module: str = "numpy"
    #: Python's operator, in the syntax tree and as a function.
    python: tuple[type[ast.AST], Callable[..., Any]] | None = None
    #: The function for it in C's ``math.h`` and Python's `math`; empty if there is none.
    c: str = ""
    #: As in `Function`.
    computed_in: Callable[..., Any] | None = None
    cost: Cost = Cost.LOW
    raises: Raises | None = None
    loops: Loops = Loops.NUMBA
    #: Returns the number of a dtype that changes no other, for operations that fold arrays.
    neutral: Callable[[np.dtype], bool | int | float] | None = None
    #: The derivative with respect to each operand, of the operands ``a``, ``b``, ``c`` and the result ``y``. One that
    #: begins with "if" is 1 where the condition holds and 0 elsewhere.
    slopes: tuple[str, ...] = ()

    @property
    def operators(self) -> tuple[Callable[..., Any], ...]:
        """Python's operator as a function, and its in-place form, as far as they exist."""
        if self.python is None:
            return ()
        _, function = self.python
        in_place = getattr(operator, f"i{function.__name__.rstrip('_')}", None)
        return (function,) if in_place is None else (function, in_place)


def _in_its_own(operand: Any) -> np.dtype:
    return np.asarray(operand).dtype


def _in_bool(*operands: Any) -> np.dtype:
    return np.dtype(np.bool_)


def _zero(dtype: np.dtype) -> int:
    return 0


def _one(dtype: np.dtype) -> int:
    return 1


def _lowest(dtype: np.dtype) -> bool | int | float:
    return False if dtype.kind == "b" else -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> bool | int | float:
    return True if dtype.kind == "b" else math.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


def _nan_or(number: Callable[[np.dtype], Any]) -> Callable[[np.dtype], Any]:
    return lambda dtype: math.nan if dtype.kind == "f" else number(dtype)


def _all_bits(dtype: np.dtype) -> int:
    return int(~dtype.type(0))


_Row = Properties
_LOW, _MODERATE, _HIGH = Cost
_DIVISION, _OVERFLOW, _SHIFT, _CONVERSION, _RESULT = Raises
_NUMBA, _OURS_FOR_INTEGERS, _OURS = Loops
#: By name.
OPERATIONS: Mapping[str, Properties] = {
    row.name: row
    for row in (
        # numba promises LLVM that sums, differences and products of integers never overflow. LLVM then omits checks of
        # indices computed from them. Dividing the smallest integer by -1 ends the process.
        _Row(
            "add",
            python=(ast.Add, operator.add),
            raises=_OVERFLOW,
            loops=_OURS_FOR_INTEGERS,
            neutral=_zero,
            slopes=("1", "1"),
        ),
        _Row(
            "subtract", python=(ast.Sub, operator.sub), raises=_OVERFLOW, loops=_OURS_FOR_INTEGERS, slopes=("1", "-1")
        ),
        _Row(
            "multiply",
            python=(ast.Mult, operator.mul),
            raises=_OVERFLOW,
            loops=_OURS_FOR_INTEGERS,
            neutral=_one,
            slopes=("b", "a"),
        ),
        _Row("negative", python=(ast.USub, operator.neg), loops=_OURS_FOR_INTEGERS, slopes=("-1",)),
        _Row("positive", ("copy",), python=(ast.UAdd, operator.pos), slopes=("1",)),
        _Row(
            "divide",
            ("true_divide",),
            python=(ast.Div, operator.truediv),
            cost=_MODERATE,
            raises=_DIVISION,
            slopes=("1 / b", "-y / b"),
        ),
        _Row("floor_divide", python=(ast.FloorDiv, operator.floordiv), cost=_HIGH, raises=_DIVISION, loops=_OURS),
        _Row(
            "remainder",
            ("mod",),
            python=(ast.Mod, operator.mod),
            cost=_HIGH,
            raises=_DIVISION,
            loops=_OURS,
            slopes=("1", "-np.floor(a / b)"),
        ),
        _Row("fmod", cost=_HIGH, loops=_OURS, slopes=("1", "-np.trunc(a / b)")),
        _Row("reciprocal", cost=_MODERATE, raises=_DIVISION, slopes=("-y * y",)),
        _Row("square", slopes=("2 * a",)),
        _Row(
            "power",
            ("float_power",),
            python=(ast.Pow, operator.pow),
            c="pow",
            cost=_HIGH,
            raises=_RESULT,
            slopes=("b * a ** (b - 1)", "y * np.log(a)"),
        ),
        # Signs, extremes and choices.
        _Row("absolute", ("abs", "fabs"), c="fabs", computed_in=_in_its_own, slopes=("np.sign(a)",)),
        _Row("sign", loops=_OURS, slopes=("0",)),
        _Row("copysign", c="copysign", slopes=("np.sign(a) * np.copysign(1, b)", "0")),
        _Row("heaviside", slopes=("0", "if a == 0")),
        _Row("where", slopes=("0", "if a", "if not a")),
        # Of two equal operands, the second of a maximum has the gradient, and the first of a minimum.
        _Row("maximum", neutral=_lowest, slopes=("if a > b", "if b >= a")),
        _Row("minimum", neutral=_highest, slopes=("if a <= b", "if b < a")),
        _Row("fmax", neutral=_nan_or(_lowest), slopes=("if a > b", "if b >= a")),
        _Row("fmin", neutral=_nan_or(_highest), slopes=("if a <= b", "if b < a")),
        # Of complex numbers; real ones are their own conjugates.
        _Row("conjugate", slopes=("1",)),
        _Row("real", computed_in=_in_its_own, slopes=("1",)),
        _Row("imag", computed_in=_in_its_own, slopes=("0",)),
        # To whole numbers.
        *(_Row(name, slopes=("0",)) for name in ("floor", "ceil", "trunc")),
        _Row("rint", ("round", "round_", "around"), slopes=("0",)),
        # Bits and truth values.
        _Row("bitwise_and", python=(ast.BitAnd, operator.and_), neutral=_all_bits),
        _Row("bitwise_or", python=(ast.BitOr, operator.or_), neutral=_zero),
        _Row("bitwise_xor", python=(ast.BitXor, operator.xor), neutral=_zero),
        _Row("invert", ("bitwise_not",), python=(ast.Invert, operator.invert)),
        _Row("left_shift", python=(ast.LShift, operator.lshift), raises=_SHIFT, loops=_OURS_FOR_INTEGERS),
        _Row("right_shift", python=(ast.RShift, operator.rshift), raises=_SHIFT, loops=_OURS_FOR_INTEGERS),
        _Row("logical_and", computed_in=_in_bool, neutral=_one),
        *(_Row(name, computed_in=_in_bool, neutral=_zero) for name in ("logical_or", "logical_xor")),
        _Row("logical_not", python=(ast.Not, operator.not_), computed_in=_in_bool),
        _Row("equal", python=(ast.Eq, operator.eq), computed_in=np.result_type),
        _Row("not_equal", python=(ast.NotEq, operator.ne), computed_in=np.result_type),
        _Row("less", python=(ast.Lt, operator.lt), computed_in=np.result_type),
        _Row("less_equal", python=(ast.LtE, operator.le), computed_in=np.result_type),
        _Row("greater", python=(ast.Gt, operator.gt), computed_in=np.result_type),
        _Row("greater_equal", python=(ast.GtE, operator.ge), computed_in=np.result_type),
        *(_Row(name, computed_in=_in_its_own) for name in ("isnan", "isinf", "isfinite", "signbit")),
        # Mathematical functions.
        _Row("sqrt", c="sqrt", cost=_MODERATE, raises=_RESULT, slopes=("0.5 / y",)),
        _Row("cbrt", c="cbrt", cost=_HIGH, slopes=("1 / (3 * y * y)",)),
        _Row("logaddexp", cost=_HIGH, slopes=("np.exp(a - y)", "np.exp(b - y)")),
        *(
            _Row(name, c=name, cost=_HIGH, raises=_RESULT, slopes=slopes)
            for name, slopes in (
                ("exp", ("y",)),
                ("exp2", ("0.6931471805599453 * y",)),
                ("expm1", ("y + 1",)),
                ("log", ("1 / a",)),
                ("log2", ("1.4426950408889634 / a",)),
                ("log10", ("0.4342944819032518 / a",)),
                ("log1p", ("1 / (1 + a)",)),
                ("hypot", ("a / y", "b / y")),
                ("sin", ("np.cos(a)",)),
                ("cos", ("-np.sin(a)",)),
                ("tan", ("1 + y * y",)),
                ("sinh", ("np.cosh(a)",)),
                ("cosh", ("np.sinh(a)",)),
            )
        ),
        _Row("arcsin", c="asin", cost=_HIGH, raises=_RESULT, slopes=("1 / np.sqrt(1 - a * a)",)),
        _Row("arccos", c="acos", cost=_HIGH, raises=_RESULT, slopes=("-1 / np.sqrt(1 - a * a)",)),
        _Row("arctan", c="atan", cost=_HIGH, slopes=("1 / (1 + a * a)",)),
        _Row("arctan2", c="atan2", cost=_HIGH, slopes=("b / (a * a + b * b)", "-a / (a * a + b * b)")),
        _Row("tanh", c="tanh", cost=_HIGH, slopes=("1 - y * y",)),
        _Row("arcsinh", c="asinh", cost=_HIGH, slopes=("1 / np.sqrt(a * a + 1)",)),
        _Row("arccosh", c="acosh", cost=_HIGH, raises=_RESULT, slopes=("1 / np.sqrt(a * a - 1)",)),
        _Row("arctanh", c="atanh", cost=_HIGH, raises=_RESULT, slopes=("1 / (1 - a * a)",)),
        *(
            _Row(name, module="scipy.special", c=c, cost=_HIGH, slopes=slopes)
            for name, c, slopes in (
                ("erf", "erf", ("1.1283791670955126 * np.exp(-a * a)",)),
                ("erfc", "erfc", ("-1.1283791670955126 * np.exp(-a * a)",)),
                ("expit", "", ("y * (1 - y)",)),
                ("logit", "", ("1 / (a * (1 - a))",)),
                ("xlogy", "", ("np.log(b)", "a / b")),
                ("gammaln", "", ("scipy.special.digamma(a)",)),
            )
        ),
        _Row("digamma", ("psi",), module="scipy.special", cost=_HIGH, slopes=("scipy.special.polygamma(1, a)",)),
        # Conversions: to the dtype; of an integer, modulo the dtype's range; rounding float32 to float16.
        _Row("convert", module="", raises=_CONVERSION),
        *(_Row(name, module="") for name in ("wrap", "to_half")),
        # A place in an array if a flag holds; otherwise 0, and the kernel fails if a second flag holds.
        # The element at a place, counted from another.
        _Row("check", module="", cost=_MODERATE),
        _Row("gather", module="", cost=_HIGH),
        # Places and elements in turn, which `Scattered` combines.
        _Row("scatter", module="", cost=_HIGH),
    )
}


def neutral_of(name: str, dtype: np.dtype) -> bool | int | float:
    """Return the number of a dtype that changes no other one when an operation combines them."""
    neutral = OPERATIONS[name].neutral
    assert neutral is not None, name
    return neutral(dtype)


#: The operations that elementwise kernels have of complex numbers.
OF_COMPLEX = {"add", "subtract", "multiply", "divide", "negative", "positive", "square", "power", "absolute", "exp"} | {
    *("conjugate", "real", "imag", "equal", "not_equal", "isnan", "isinf", "isfinite", "where", "convert")
}

#: Python's operators, by their types in syntax trees.
BINARY, UNARY, COMPARISONS = (
    {
        row.python[0]: Function(row.name, row.python[1], row.computed_in)
        for row in OPERATIONS.values()
        if row.python and issubclass(row.python[0], kind)
    }
    for kind in (ast.operator, ast.unaryop, ast.cmpop)
)

#: The parts of complex numbers, by the names of attributes.
PARTS: Mapping[str, Function] = {
    function.__name__: Function(function.__name__, function, _in_its_own) for function in (np.real, np.imag)
}
CHECK = Function("check", lambda place, is_inside, must_be: place)
GATHER = Function("gather", lambda start, place: start)
SCATTER = Function("scatter", lambda *operands: np.full(1, operands[-1]))

#: NumPy functions that broadcast several operands, and the position of the first operand.
OF_SEVERAL: Mapping[str, int] = {
    **{
        name: 0
        for row in OPERATIONS.values()
        for name in (row.name, *row.aliases)
        # `float_power` always computes in float64.
        if getattr(getattr(np, name, None), "nin", 0) > 1 and name != "float_power"
    },
    "clip": 0,
    "where": 1,
    "xlogy": 0,
}

#: Functions of `math` that raise an exception for some arguments.
RAISING_MATH = frozenset(
    (
        *(row.c for row in OPERATIONS.values() if row.c and row.raises is Raises.RESULT),
        *("gamma", "ldexp", "lgamma", "floor", "ceil", "trunc"),
    )
)

#: Methods of universal functions that combine elements of an array, their first argument, with others.
AT: Mapping[Any, Function] = {
    function.at: Function(function.__name__, function) for function in (np.add, np.multiply, np.maximum, np.minimum)
}

#: Functions that return an array of the shape of another, and the value that fills it.
LIKE: Mapping[Any, int | None] = {np.zeros_like: 0, np.ones_like: 1, np.full_like: None}

#: Functions that return an array of a shape, and the value that fills it.
FILLED: Mapping[Any, int] = {np.zeros: 0, np.ones: 1}

#: Types that convert a number.
CONVERSIONS = (bool, int, float, *(np.dtype(code).type for code in "?bhilqBHILQefd"))

#: Further functions that may be called if all arguments are known.
STATIC = (len, min, max, round, isinstance, range, slice, tuple, np.dtype, np.finfo, np.iinfo, *CONVERSIONS)


def find(function: Any) -> Function | None:
    """Return the operation for which a function of NumPy, SciPy or Python stands, or None."""
    found = look_up(_functions(), function)
    # A kernel that uses SciPy has imported it.
    return look_up(functions_of("scipy.special"), function) if not found and "scipy.special" in sys.modules else found


def look_up(table: Mapping[Any, _Found], function: Any) -> _Found | None:
    """Return what a table has for a function; None if it has nothing, also for what is not hashable."""
    try:
        return table.get(function)
    except TypeError:
        return None


@functools.cache
def _functions() -> Mapping[Any, Function]:
    of_math = {
        getattr(math, row.c): Function(row.name, _of_numbers(getattr(math, row.c)))
        for row in OPERATIONS.values()
        if hasattr(math, row.c)
    }
    others = {np.clip: Function("clip", np.clip), builtins.abs: Function("absolute", operator.abs, _in_its_own)}
    return {**functions_of("numpy"), **of_math, **others}


@functools.cache
def functions_of(module: str) -> Mapping[Any, Function]:
    """Return the operations of a module that has been imported, by its functions."""
    namespace = vars(sys.modules[module])
    return {
        namespace[name]: Function(row.name, namespace[name], row.computed_in)
        for row in OPERATIONS.values()
        for name in (row.name, *row.aliases)
        if row.module == module and name in namespace
    }


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, made to refuse arrays, even those of one element."""

    def checked(*operands: Any) -> Any:
        if any(isinstance(operand, np.ndarray) for operand in operands):
            raise TypeError(f"math.{function.__name__} takes numbers, not arrays")
        return function(*operands)

    return checked
