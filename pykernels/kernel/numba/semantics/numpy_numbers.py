"""Give operations on single array elements the dtype that NumPy gives them, in kernels that numba compiles.

numba computes all integers in 64 bits; NumPy's are as wide as their arrays' dtypes, and wrap.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.kernel.expression.operations import BINARY, OPERATIONS, UNARY

#: The operators that change an array in place.
IN_PLACE = {function for row in OPERATIONS.values() for function in row.operators[1:]}
_ARITHMETIC = {*(function.function for function in (*BINARY.values(), *UNARY.values())), *IN_PLACE} - {operator.not_}


@intrinsic
def apply_numpy(typing_context: Any, function: nb.Type, *operands: nb.Type) -> Any:
    """Emit ``function(*operands)`` on anything but Python numbers; `int` returns one, of 64 bits with a sign."""
    found, returned = resolve(typing_context, function, operands)
    is_unsigned = python_function(function) is int and found and not getattr(found.return_type, "signed", True)
    if is_unsigned:
        returned = nb.int64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = cgutils.unpack_tuple(builder, arguments[1])
        result = compute(context, builder, function, found, returned, values, operands)
        if is_unsigned:
            with cgutils.if_unlikely(builder, builder.icmp_signed("<", result, result.type(0))):
                context.call_conv.return_user_exc(builder, OverflowError, ())
        return result

    return (found and returned(function, nb.Tuple(operands))), generate


def python_function(type_: nb.Type) -> Any:
    """Return the function that a type of numba stands for."""
    return getattr(type_, "typing_key", None)


def resolve(typing_context: Any, function: nb.Type, types: tuple[nb.Type, ...]) -> tuple[Any, Any]:
    """Return numba's function for operands of these types, or None, and the type of NumPy's result."""
    called = python_function(function)
    wanted = _type_in_numpy(called, types)
    if isinstance(wanted, nb.Float):
        types = (wanted,) * len(types)
    found = typing_context.resolve_function_type(function, types, {})
    return found, found and (wanted or found.return_type)


def compute(
    context: Any, builder: Any, function: nb.Type, found: Any, returned: nb.Type, values: list[Any], types: Any
) -> Any:
    """Emit the call of the function that `resolve` returned."""
    cast = [context.cast(builder, *each) for each in zip(values, types, found.args)]
    cast += [context.get_dummy_value()] * (len(found.args) - len(cast))  # for parameters that have their defaults
    result = context.get_function(function, found)(builder, cast)
    return context.cast(builder, result, found.return_type, returned)


def _type_in_numpy(function: Any, types: tuple[nb.Type, ...]) -> nb.Type | None:
    """Return the type of an operation on NumPy numbers if one of them is narrower than numba's types."""
    types = tuple(map(nb.unliteral, types))
    if function not in _ARITHMETIC or not all(isinstance(each, (nb.Integer, nb.Boolean, nb.Float)) for each in types):
        return None
    if set(types) <= {nb.int64, nb.float64} or all(isinstance(each, nb.Float) for each in types):
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*(as_dtype(each).type(1) for each in types))
        except TypeError:  # the plain run reports what NumPy refuses
            return None
    return from_dtype(np.asarray(result).dtype)
