"""Emit operations on Python numbers, which raise where Python does."""

from __future__ import annotations

import operator
from typing import Any

from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from pykernels.kernel.emit.number_checks import fits, is_regular, is_whole, keeps_bits
from pykernels.kernel.expression.operations import OPERATIONS, Raises
from pykernels.kernel.numba.semantics.numpy_numbers import compute, python_function
from pykernels.kernel.numba.semantics.numpy_operations import writer_of

_RAISES = {function: row.raises for row in OPERATIONS.values() for function in row.operators[:1]}
_RAISES[divmod] = Raises.DIVISION
_POWERS = (operator.pow, pow)


@intrinsic
def apply_python(typing_context: Any, function: nb.Type, *operands: nb.Type) -> Any:
    """Emit ``function(*operands)`` on Python numbers.

    The compiled code raises Python's exception for a division by zero, a negative shift, an integer to a negative
    power, `int` of NaN or infinity, and a function of `math` whose result is not finite. The plain run provides the
    messages.
    """
    found = typing_context.resolve_function_type(function, operands, {})
    called = python_function(function)
    raises = _RAISES.get(called)
    are_integers = all(isinstance(operand, (nb.Integer, nb.Boolean)) for operand in operands)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def refuse_if(is_wrong: Any, kind: type[Exception]) -> None:
            with cgutils.if_unlikely(builder, is_wrong):
                context.call_conv.return_user_exc(builder, kind, ())

        values = cgutils.unpack_tuple(builder, arguments[1])
        last, last_type = values[-1], operands[-1]
        if raises is Raises.DIVISION:
            refuse_if(builder.not_(context.cast(builder, last, last_type, nb.boolean)), ZeroDivisionError)
        elif are_integers and (raises is Raises.SHIFT or called in _POWERS):
            exponent = context.cast(builder, last, last_type, nb.int64)
            refuse_if(builder.icmp_signed("<", exponent, exponent.type(0)), ValueError)
        elif isinstance(last_type, nb.Float) and isinstance(found.return_type, nb.Integer):
            refuse_if(builder.not_(is_whole(writer_of(builder), last)), ValueError)
        result = compute(context, builder, function, found, found.return_type, values, operands)
        if isinstance(found.return_type, nb.Float) and raises is not Raises.DIVISION:
            given = [context.cast(builder, *each, nb.float64) for each in zip(values, operands)]
            made = context.cast(builder, result, found.return_type, nb.float64)
            refuse_if(builder.not_(is_regular(writer_of(builder), made, given)), ValueError)
        if called is operator.lshift and are_integers:
            number, count = (context.cast(builder, *each, found.return_type) for each in zip(values, operands))
            refuse_if(builder.not_(keeps_bits(writer_of(builder), result, number, count)), OverflowError)
        return result

    return (found and found.return_type(function, nb.Tuple(operands))), generate


def convert_number(context: Any, builder: Any, number: Any, type_: nb.Type, new: nb.Type) -> Any:
    """Emit a Python number in another type; raise `OverflowError` if it is an integer that `new` cannot represent."""
    if isinstance(new, nb.Integer) and isinstance(type_, nb.Integer) and type_ != new:
        wide = context.cast(builder, number, type_, nb.int64)
        with cgutils.if_unlikely(builder, builder.not_(fits(builder, wide, as_dtype(new)))):
            context.call_conv.return_user_exc(builder, OverflowError, ())
    return context.cast(builder, number, type_, new)
