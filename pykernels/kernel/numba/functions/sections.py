"""Split arrays into views of their sections: a tuple if their number is known while compiling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils, errors
from numba.extending import intrinsic

from pykernels.kernel.numba.functions.views import emit_slice, sliced_type
from pykernels.kernel.numba.implementing import implements, is_integer, known, require_known


@intrinsic(prefer_literal=True)
def _sections(typing_context: Any, array: nb.Type, axis: nb.Type, count: nb.Type, is_even: nb.Type) -> Any:
    """Return a known number of sections, of lengths that differ by 1 at most."""
    at, n, is_exact = known(axis), known(count), known(is_even)
    returned = nb.UniTuple(sliced_type(array, at), n)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        length = builder.extract_value(base.shape, at)
        each, extra = (function(length, length.type(n)) for function in (builder.sdiv, builder.srem))
        if is_exact:
            with cgutils.if_unlikely(builder, builder.icmp_signed("!=", extra, extra.type(0))):
                context.call_conv.return_user_exc(builder, ValueError, ("sections of different lengths",))
        views, begin = [], length.type(0)
        for i in range(n):
            size = builder.add(each, builder.zext(builder.icmp_signed("<", extra.type(i), extra), each.type))
            views.append(emit_slice(context, builder, array, base, at, begin, size))
            begin = builder.add(begin, size)
        return context.make_tuple(builder, returned, views)

    return returned(array, axis, count, is_even), generate


@intrinsic(prefer_literal=True)
def _sections_at(typing_context: Any, array: nb.Type, axis: nb.Type, places: nb.Type) -> Any:
    """Return the sections between places, as slices have them: they may be negative, or past the end."""
    at = known(axis)
    returned = nb.UniTuple(sliced_type(array, at), len(places) + 1)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        length = builder.extract_value(base.shape, at)
        zero = length.type(0)

        def within(place: Any, low: Any) -> Any:
            is_low, is_high = (builder.icmp_signed(sign, place, end) for sign, end in (("<", low), (">", length)))
            return builder.select(is_low, low, builder.select(is_high, length, place))

        bounds = [zero]
        for type_, place in zip(places, cgutils.unpack_tuple(builder, arguments[2])):
            number = context.cast(builder, place, type_, nb.intp)
            is_negative = builder.icmp_signed("<", number, zero)
            bounds.append(within(builder.select(is_negative, builder.add(number, length), number), zero))
        views = []
        for begin, end in zip(bounds, [*bounds[1:], length]):
            size = builder.sub(within(end, begin), begin)
            views.append(emit_slice(context, builder, array, base, at, begin, size))
        return context.make_tuple(builder, returned, views)

    return returned(array, axis, places), generate


def _sections_of(array: Any, sections: Any, axis: Any, *, is_even: bool = True) -> Any:
    """Return an implementation that splits an array along an axis."""
    if not isinstance(array, nb.Array):
        return None
    require_known(axis, "the axis of split")
    if not -array.ndim <= axis < array.ndim:
        raise errors.TypingError("there is no such axis")
    at = axis % array.ndim
    if is_integer(sections):
        require_known(sections, "the number of sections")
        count = int(sections)
        if count < 1:
            raise errors.TypingError("a number of sections below 1")
        return lambda ary: _sections(ary, at, count, is_even)
    if not isinstance(sections, (tuple, nb.BaseTuple)) or not all(map(is_integer, sections)):
        return None
    return lambda ary, indices_or_sections: _sections_at(ary, at, indices_or_sections)


@implements(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    return _sections_of(ary, indices_or_sections, axis)


@implements(np.array_split)
def _array_sections_of(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    return _sections_of(ary, indices_or_sections, axis, is_even=False)


@implements(np.hsplit)
def _hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _sections_of(ary, indices_or_sections, 1 if getattr(ary, "ndim", 0) > 1 else 0)


@implements(np.vsplit)
def _vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _sections_of(ary, indices_or_sections, 0) if getattr(ary, "ndim", 0) > 1 else None


@implements(np.dsplit)
def _dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _sections_of(ary, indices_or_sections, 2) if getattr(ary, "ndim", 0) > 2 else None
