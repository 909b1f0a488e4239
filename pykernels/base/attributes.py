"""Convert attribute values from Python values or strings to the form that all of pykernels uses.

This is the form of `abi.decode_attr`: int, float, bool, str, OneFlow's number for a dtype, and tuples of these for
shapes and lists. A float attribute is a 32-bit float, stored as the Python float with the same shortest decimal, so
that 0.1 stays 0.1 and every framework computes with the same number.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError

#: The type of the items of each type of list; a shape is a list, too.
ITEMS = {each: AttrType[each.name[5:]] for each in AttrType if each.name.startswith("LIST_")}
ITEMS[AttrType.SHAPE] = AttrType.INT64
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_INTEGER = re.compile(r"[+-]?\d+")
_NUMPY_CLASS = re.compile(r"<class 'numpy\.(\w+)'>")


def type_name(type_: AttrType) -> str:
    """Return the name of an attribute type in messages and schemas."""
    name = type_.name.lower()
    return f"list[{name[5:]}]" if name.startswith("list_") else name


def parse_value(type_: AttrType, value: Any) -> Any:
    """Convert a Python or NumPy value, or the string into which a framework converted one, to an attribute type.

    This raises `ValueError` if the value does not have that type; the message says why.
    """
    if type_ in ITEMS:
        return _parse_list(type_, value)
    return _PARSERS[type_](value)


def _parse_integer(bits: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, str):
            if not _INTEGER.fullmatch(value.strip()):
                raise ValueError("it is not an integer")
            number = int(value)
        elif isinstance(value, bool | np.bool_):
            raise ValueError("it is a bool")
        else:
            try:
                number = operator.index(value)
            except TypeError:
                raise ValueError("it is not an integer") from None
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(f"it does not fit in {bits} bits")
        return number

    return parse


def _parse_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value.strip().lower() in _TRUTHS:
            return _TRUTHS[value.strip().lower()]
    elif isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1):
        return bool(value)
    raise ValueError("it is neither true nor false")


def _parse_double(value: Any) -> float:
    if isinstance(value, bool | np.bool_):
        raise ValueError("it is a bool")
    if isinstance(value, str | int | float | np.integer | np.floating):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise ValueError("it is not a number")


def _parse_float(value: Any) -> float:
    exact = _parse_double(value)
    # 0.0 and -0.0 compare equal, so the cache would return one for the other.
    return _shortest(exact) if exact else exact


@functools.lru_cache(maxsize=1024)  # the search takes longer than a call of an op
def _shortest(exact: float) -> float:
    with np.errstate(over="ignore"):
        single = np.float32(exact)
    if np.isinf(single) and not np.isinf(exact):
        raise ValueError("it does not fit in a 32-bit float")
    for digits in range(6, 10):
        decimal = float(f"{float(single):.{digits}g}")
        if np.float32(decimal) == single:
            return decimal
    return float(single)


def _parse_string(value: Any) -> str:
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("it contains a null character")
        return str(value)
    raise ValueError("it is not a string")


def _parse_dtype(value: Any) -> int:
    if isinstance(value, str):
        shown = _NUMPY_CLASS.fullmatch(value.strip())
        value = shown[1] if shown else value.strip()
        if _INTEGER.fullmatch(value):
            value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return dtypes.number_of(dtypes.from_number(value))
        except KeyError:
            raise ValueError("it is not the number of a data type") from None
    try:
        return dtypes.number_of(value)
    except (TypeError, CallError):
        raise ValueError("it is not a data type that ops support") from None


def _parse_list(type_: AttrType, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = _literal(value)
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        value = (value,)
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        raise ValueError("it is not a tuple or list")
    items = []
    for number, item in enumerate(value):
        try:
            items.append(parse_value(ITEMS[type_], item))
        except ValueError as error:
            raise ValueError(f"item {number}, {item!r}, is not of type {type_name(ITEMS[type_])}: {error}") from None
    return tuple(items)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("it is not written as a tuple or list") from None


_PARSERS: dict[AttrType, Callable[[Any], Any]] = {
    AttrType.INT32: _parse_integer(32),
    AttrType.INT64: _parse_integer(64),
    AttrType.BOOL: _parse_bool,
    AttrType.FLOAT: _parse_float,
    AttrType.DOUBLE: _parse_double,
    AttrType.STRING: _parse_string,
    AttrType.DTYPE: _parse_dtype,
}


def format_value(type_: AttrType, value: Any) -> str:
    """Format `value` for schemas and messages, in a form that `parse_value` reads."""
    if type_ is AttrType.DTYPE:
        return dtypes.dtype_name(value)
    if type_ is AttrType.LIST_DTYPE:
        return repr(tuple(dtypes.dtype_name(number) for number in value))
    return repr(value)


def sample_value(type_: AttrType) -> Any:
    """Return some value of type `type_`, to try a definition with."""
    if type_ in ITEMS:
        return (sample_value(ITEMS[type_]),)
    samples: dict[AttrType, Any] = {AttrType.BOOL: True, AttrType.STRING: "", AttrType.DTYPE: 2}
    return samples.get(type_, 0.5 if type_ in (AttrType.FLOAT, AttrType.DOUBLE) else 1)
