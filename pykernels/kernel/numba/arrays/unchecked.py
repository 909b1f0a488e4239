"""Emit the index check before a loop (see `bounds`), and loads and stores without checks."""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from pykernels.kernel.numba.copying import parts
from pykernels.kernel.numba.rewriting.bounds import COMPUTED


@intrinsic
def before(typing_context: Any, stop: nb.Integer) -> Any:
    """Emit ``stop - 1`` in 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (number,) = _whole_numbers(context, builder, stop, arguments[0])
        return builder.sub(number, number.type(1))

    return nb.intp(stop), generate


@intrinsic
def fits(typing_context: Any, start: nb.Integer, stop: nb.Integer, *places: nb.Type) -> Any:
    """Raise `IndexError` if a loop has iterations and an array lacks the elements of the first or last one.

    `places` are each array and its index in both iterations. The emitted code returns whether any index is negative. It
    ignores indices that `load` checks itself.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (begin,), (end,) = (_whole_numbers(context, builder, *each) for each in zip((start, stop), arguments[:2]))
        result = cgutils.alloca_once_value(builder, cgutils.false_bit)
        values = cgutils.unpack_tuple(builder, arguments[2])
        # Emit a branch for each array, so that LLVM knows in the loop what has been checked.
        with builder.if_then(builder.icmp_signed("<", begin, end)):
            wraps = cgutils.false_bit
            # No array has this many elements, so some index is past its end, if only by overflow.
            is_long = builder.icmp_unsigned(">", builder.sub(end, begin), ir.Constant(end.type, 1 << 48))
            for at in range(0, len(places), 3):
                (array, *types), (value, *indices) = places[at : at + 3], values[at : at + 3]
                if not _is_plain(array, types[0]):
                    continue
                is_outside = is_long
                _, sizes, _ = parts(context, builder, array, value)
                for type_, index in zip(types, indices):
                    for i, size in zip(_whole_numbers(context, builder, type_, index), sizes):
                        is_negative = builder.icmp_signed("<", i, i.type(0))
                        i = builder.select(is_negative, builder.add(i, size), i)
                        is_outside = builder.or_(is_outside, builder.icmp_unsigned(">=", i, size))
                        wraps = builder.or_(wraps, is_negative)
                with cgutils.if_unlikely(builder, is_outside):
                    context.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))
            builder.store(wraps, result)
        return builder.load(result)

    return nb.boolean(start, stop, nb.Tuple(places)), generate


@intrinsic(prefer_literal=True)
def load(typing_context: Any, array: nb.Type, index: nb.Type, wraps: nb.Type, axes: nb.Type) -> Any:
    """Emit ``array[index]``, without a check if `fits` has made it."""
    found = typing_context.resolve_function_type(operator.getitem, (array, index), {})
    is_checked = _is_checked(index, axes.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_, index_, wraps_, _ = arguments
        if _is_element(array, index) and is_checked:
            pointer = _pointer(context, builder, array, array_, index, index_, wraps_, axes.literal_value)
            return arrayobj.load_item(context, builder, array, pointer)
        return _call(context, builder, operator.getitem, found, signature.args[:2], arguments[:2], is_checked)

    return (found and found.return_type(array, index, wraps, axes)), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, array: nb.Type, index: nb.Type, value: nb.Type, wraps: nb.Type, axes: nb.Type) -> Any:
    """Emit ``array[index] = value``, without a check if `fits` has made it."""
    found = typing_context.resolve_setitem(array, index, value)
    is_checked = _is_checked(index, axes.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_, index_, value_, wraps_, _ = arguments
        if _is_element(array, index) and array.mutable and is_checked:
            value_ = context.cast(builder, value_, value, array.dtype)
            pointer = _pointer(context, builder, array, array_, index, index_, wraps_, axes.literal_value)
            arrayobj.store_item(context, builder, array, value_, pointer)
        else:
            _call(context, builder, operator.setitem, found, signature.args[:3], arguments[:3], is_checked)
        return context.get_dummy_value()

    return (found and nb.void(array, index, value, wraps, axes)), generate


def _is_checked(index: nb.Type, axes: int) -> bool:
    """Whether all indices of a loop lie between the first and the last: no NumPy number among them may overflow."""
    types = index.types if isinstance(index, nb.BaseTuple) else (index,)
    return all(nb.unliteral(type_) == nb.intp for at, type_ in enumerate(types) if axes >> COMPUTED + at & 1)


def _pointer(
    context: Any, builder: Any, array: nb.Array, value: Any, index_type: nb.Type, index: Any, wraps: Any, axes: int
) -> Any:
    """Emit the address of an element of an array; if `wraps`, the negative indices of `axes` count from the end."""
    data, sizes, strides = parts(context, builder, array, value)
    indices = [
        builder.select(builder.and_(wraps, builder.icmp_signed("<", i, i.type(0))), builder.add(i, size), i)
        if axes >> at & 1
        else i
        for at, (i, size) in enumerate(zip(_whole_numbers(context, builder, index_type, index), sizes))
    ]
    return cgutils.get_item_pointer2(context, builder, data, sizes, strides, array.layout, indices)


def _whole_numbers(context: Any, builder: Any, type_: nb.Type, index: Any) -> list[Any]:
    """Return the integers of an index, each as wide as a pointer."""
    if isinstance(type_, nb.BaseTuple):
        numbers, types = cgutils.unpack_tuple(builder, index), list(type_)
    else:
        numbers, types = [index], [type_]
    return [context.cast(builder, number, old, nb.intp) for number, old in zip(numbers, types)]


def _call(context: Any, builder: Any, function: Any, found: Any, types: Any, arguments: Any, is_checked: bool) -> Any:
    """Emit `operator.getitem` or ``setitem``, with index checks unless they are already made."""
    if _is_plain(*types[:2]) and is_checked:
        context = context.subtarget(enable_boundscheck=False)
    cast = [context.cast(builder, argument, old, new) for argument, old, new in zip(arguments, types, found.args)]
    called = context.typing_context.resolve_value_type(function)
    return context.get_function(called, found)(builder, cast)


def _is_plain(array: nb.Type, index: nb.Type) -> bool:
    """Whether an array is indexed by integers."""
    indices = index.types if isinstance(index, nb.BaseTuple) else (index,)
    return isinstance(array, nb.Array) and all(isinstance(i, nb.Integer) for i in indices)


def _is_element(array: nb.Type, index: nb.Type) -> bool:
    return _is_plain(array, index) and array.ndim == (len(index) if isinstance(index, nb.BaseTuple) else 1)
