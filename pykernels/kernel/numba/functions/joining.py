"""Join arrays along an axis: into one new array, each as a whole, of any dtypes and numbers of axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils, errors
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.kernel.numba.copying import copy, emit_copy, parts
from pykernels.kernel.numba.functions.along import around
from pykernels.kernel.numba.functions.views import NEW, arrange, arranged, sliced
from pykernels.kernel.numba.implementing import implements, is_array, known, require_known

# How an array's axes are arranged before it is joined, and along which axis, for its number of axes.
_Arrangement = Callable[[int], "tuple[int, ...]"]


@intrinsic(prefer_literal=True)
def _joined_shape(typing_context: Any, arrays: nb.Type, axis: nb.Type, orders: nb.Type) -> Any:
    """Return the shape of the arrays joined along an axis, each with its axes in a known order."""
    at, known_orders = known(axis), _of_each(orders, arrays)
    ndim = len(known_orders[0])

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shapes = [each[1] for each in _arranged_parts(context, builder, arrays, arguments[0], known_orders)]
        total, is_wrong = shapes[0][at], cgutils.false_bit
        for shape in shapes[1:]:
            total = builder.add(total, shape[at])
            for i in set(range(ndim)) - {at}:
                is_wrong = builder.or_(is_wrong, builder.icmp_signed("!=", shape[i], shapes[0][i]))
        with cgutils.if_unlikely(builder, is_wrong):
            context.call_conv.return_user_exc(builder, ValueError, ("arrays of different shapes",))
        lengths = [total if i == at else length for i, length in enumerate(shapes[0])]
        return cgutils.pack_array(builder, lengths)

    return nb.UniTuple(nb.intp, ndim)(arrays, axis, orders), generate


@intrinsic(prefer_literal=True)
def _join(typing_context: Any, target: nb.Type, arrays: nb.Type, axis: nb.Type, orders: nb.Type) -> Any:
    """Copy arrays one after another along an axis of the target, each with its axes in a known order."""
    at, known_orders = known(axis), _of_each(orders, arrays)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, lengths, strides = parts(context, builder, target, arguments[0])
        values = cgutils.unpack_tuple(builder, arguments[1])
        begin = lengths[at].type(0)
        arranged_arrays = _arranged_parts(context, builder, arrays, arguments[1], known_orders)
        for type_, value, (source, sizes, steps) in zip(arrays, values, arranged_arrays):
            if type_.dtype == target.dtype:
                to = cgutils.pointer_add(builder, data, builder.mul(strides[at], begin))
                emit_copy(context, builder, target, (to, strides), (source, steps), sizes)
            else:
                types = (target, nb.intp, nb.intp, type_)
                operands = [arguments[0], context.get_constant(nb.intp, at), begin, value]
                context.compile_internal(builder, _convert, nb.none(*types), operands)
            begin = builder.add(begin, sizes[at])
        return context.get_dummy_value()

    return nb.void(target, arrays, axis, orders), generate


def _of_each(orders: nb.Type, arrays: nb.Type) -> list[tuple[int, ...]]:
    """Return the order of each array's axes, of all of them in a row: numba knows the values of flat tuples alone."""
    values = known(orders)
    ndim = len(values) // len(arrays)
    return [values[i * ndim : (i + 1) * ndim] for i in range(len(arrays))]


def _arranged_parts(context: Any, builder: Any, arrays: nb.Type, value: Any, orders: Sequence[Any]) -> list[Any]:
    """Return the address, the lengths and the strides of each array, with its axes in a known order."""
    found = []
    for type_, each, order in zip(arrays, cgutils.unpack_tuple(builder, value), orders):
        data, lengths, strides = parts(context, builder, type_, each)
        found.append((data, *arrange(lengths, strides, order, context.get_value_type(nb.intp))))
    return found


def _convert(target: Any, at: Any, begin: Any, source: Any) -> None:
    """Copy an array of another dtype to a place along an axis of the target, which is contiguous."""
    before, after = around(target.shape, at)
    if before * after == 0:
        return
    width = source.size // before
    rows, numbers = target.reshape((before, target.size // before)), np.ravel(source).reshape((before, width))
    for i in range(before):
        for j in range(width):
            rows[i, begin * after + j] = numbers[i, j]


def _joined(arrays: Any, axis: int, arrange_axes: _Arrangement, dtype: Any = None) -> Any:
    """Return an implementation that joins a tuple or a list of arrays; None if they are something else."""
    if isinstance(arrays, nb.BaseTuple) and len(arrays) and all(map(is_array, arrays)):
        dtype = np.result_type(*(as_dtype(each.dtype) for each in arrays)) if dtype is None else dtype
        arrangements = [arrange_axes(each.ndim) for each in arrays]
        at = _position(axis, set(map(len, arrangements)))
        orders = tuple(itertools.chain(*arrangements))

        def join(arrays: Any) -> Any:
            made = np.empty(_joined_shape(arrays, at, orders), dtype)
            _join(made, arrays, at, orders)
            return made

        return join
    member: Any = arrays.dtype if isinstance(arrays, (nb.List, nb.ListType)) else None
    if not is_array(member) or (dtype is not None and from_dtype(dtype) != member.dtype):
        return None
    order, dtype = arrange_axes(member.ndim), as_dtype(member.dtype)
    at = _position(axis, {len(order)})
    one = (at,)

    def join_list(arrays: Any) -> Any:
        if len(arrays) == 0:
            raise ValueError("no arrays to join")
        total = 0
        for each in arrays:
            total += arranged(each, order).shape[at]
        first = arranged(arrays[0], order)
        made = np.empty(with_length(first.shape, one, total), dtype)
        begin = 0
        for each in arrays:
            source = arranged(each, order)
            part = sliced(made, at, begin, source.shape[at])
            if part.shape != source.shape:
                raise ValueError("arrays of different shapes")
            copy(part, source)
            begin += source.shape[at]
        return made

    return join_list


@intrinsic(prefer_literal=True)
def with_length(typing_context: Any, shape: nb.Type, at: nb.Type, length: nb.Type) -> Any:
    """Return a shape with another length at a known position."""
    (place,) = known(at)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = context.cast(builder, arguments[2], length, nb.intp)
        return builder.insert_value(arguments[0], size, place)

    return shape(shape, at, length), generate


def _position(axis: int, ranks: set[int]) -> int:
    """Return the position of an axis of arrays that have one number of axes."""
    if len(ranks) > 1 or not -min(ranks) <= axis < min(ranks):
        raise errors.TypingError("the arrays have other numbers of axes, or no such axis")
    return axis % min(ranks)


def _same(ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim))


def _flat(arrays: Any, dtype: Any) -> Any:
    """Return an implementation that joins the elements of arrays."""
    if not isinstance(arrays, nb.BaseTuple) or not len(arrays) or not all(map(is_array, arrays)):
        return None
    join: Any = np.concatenate
    return lambda arrays: join(_raveled(arrays), 0, None, dtype)


@intrinsic
def _raveled(typing_context: Any, arrays: nb.Type) -> Any:
    """Return the elements of each array in a row."""
    row = tuple(each.copy(ndim=1, layout="C", readonly=False) for each in arrays)
    returned = nb.Tuple(row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = []
        for type_, each, value in zip(arrays, row, cgutils.unpack_tuple(builder, arguments[0])):
            made.append(context.compile_internal(builder, lambda x: x.flatten(), each(type_), [value]))
        return context.make_tuple(builder, returned, made)

    return returned(arrays), generate


@implements(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if out is not None or casting != "same_kind" or isinstance(dtype, (nb.Type, str)):
        return None
    require_known(axis, "the axis of concatenate")
    return _flat(arrays, dtype) if axis is None else _joined(arrays, axis, _same, dtype)


@implements(np.stack)
def _stack(arrays: Any, axis: Any = 0, out: Any = None) -> Any:
    if out is not None:
        return None
    require_known(axis, "the axis of stack")

    def with_axis(ndim: int) -> tuple[int, ...]:
        at = _position(axis, {ndim + 1})
        return (*range(at), NEW, *range(at, ndim))

    return _joined(arrays, axis, with_axis)


@implements(np.vstack)
def _vstack(arrays: Any) -> Any:
    return _joined(arrays, 0, lambda ndim: (NEW,) * (2 - ndim) + _same(ndim))


@implements(np.hstack)
def _hstack(arrays: Any) -> Any:
    is_some = isinstance(arrays, nb.BaseTuple) and len(arrays)
    first = arrays[0] if is_some else getattr(arrays, "dtype", None)
    axis = 0 if getattr(first, "ndim", 2) < 2 else 1
    return _joined(arrays, axis, lambda ndim: _same(ndim) or (NEW,))


@implements(np.dstack)
def _dstack(arrays: Any) -> Any:
    orders = {0: (NEW, NEW, NEW), 1: (NEW, 0, NEW), 2: (0, 1, NEW)}
    return _joined(arrays, 2, lambda ndim: orders.get(ndim, _same(ndim)))


@implements(np.column_stack)
def _column_stack(arrays: Any) -> Any:
    orders = {0: (NEW, NEW), 1: (0, NEW)}
    return _joined(arrays, 1, lambda ndim: orders.get(ndim, _same(ndim)))


@implements(np.block)
def _block(arrays: Any) -> Any:
    depths, blocks = set(_depths(arrays)), list(_blocks(arrays))
    if len(depths) != 1 or depths == {0} or not all(is_array(each) or isinstance(each, nb.Number) for each in blocks):
        raise errors.TypingError("blocks are arrays and numbers, all at the same depth")
    ndim = max(*depths, *(getattr(each, "ndim", 0) for each in blocks))
    orders = {n: (NEW,) * (ndim - n) + _same(n) for n in range(ndim + 1)}

    def code_of(value: Any, text: str, axis: int) -> str:
        if isinstance(value, nb.BaseTuple):
            members = (code_of(each, f"{text}[{at}]", axis + 1) for at, each in enumerate(value))
            return f"np.concatenate(({''.join(f'{each}, ' for each in members)}), {axis})"
        return f"arranged({text}, order{value.ndim})" if is_array(value) else f"np.full(ones, {text})"

    names = {"np": np, "arranged": arranged, "ones": (1,) * ndim, **{f"order{n}": each for n, each in orders.items()}}
    made: Any = eval(f"lambda arrays: {code_of(arrays, 'arrays', -max(depths))}", names)
    return made


def _depths(value: Any) -> Iterator[int]:
    """Yield how deep each block lies in nested tuples."""
    if isinstance(value, nb.BaseTuple):
        yield from (1 + depth for member in value for depth in _depths(member))
    else:
        yield 0


def _blocks(value: Any) -> Iterator[Any]:
    for member in value if isinstance(value, nb.BaseTuple) else ():
        yield from _blocks(member) if isinstance(member, nb.BaseTuple) else (member,)


@implements(np.append)
def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    require_known(axis, "the axis of append")
    if not is_array(arr) or not is_array(values):
        return None
    return lambda arr, values: np.concatenate((arr, values), axis)
