"""Fold the elements of arrays along axes: the loops of sums, extrema and their like.

An array is seen as five axes, ``(kept, folded, kept, folded, kept)``, which covers neighbouring axes in one or two
groups. What is folded lies in rows: their elements are neighbours in memory, and each has an accumulator of its own, so
that the innermost loop is vectorised. If the last axis is folded, a row is a run of `_LANES` elements, and the results
of such runs are combined in pairs, as NumPy does for precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.numba.copying import parts
from pykernels.kernel.numba.implementing import compiled
from pykernels.kernel.numba.semantics.numpy_operations import writer_of

# The number of accumulators along a row, and of elements that they take before their results are combined in pairs.
_LANES = 32
_CHUNK = 64 * _LANES
# The number of elements up to which a row needs no lanes, and the lanes of those with less than `_MANY` elements.
_FEW, _MANY = 8, 64
_I64 = ir.IntType(64)


def folder(
    ufunc: np.ufunc,
    neutral: Any,
    dtype: np.dtype,
    term: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
    *,
    needs_elements: bool = False,
) -> Any:
    """Return an intrinsic ``fold(x, other, center, extra, start, made)`` that writes to `made`, of the dtype.

    `x` is as `blocks` makes it, and `made` has its first, third and fifth axis. The first axis of both, and of the
    arrays like them, may have any stride.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Combines two numbers of the dtype; associative.
    neutral : number
        Changes no number that it is combined with.
    term : callable, optional
        ``term(x, other, center)`` is the number that an element stands for; the element itself by default. `other` is
        an array like `x`, and `center` one like `made`.
    finish : callable, optional
        ``finish(number, n, extra)`` is the result for `n` elements; the number itself by default. `extra` is an array
        like `made`.
    needs_elements : bool
        Whether folding no elements is an error.
    """
    type_ = from_dtype(dtype)
    terms, finished = (each and compiled(each) for each in (term, finish))

    @intrinsic
    def fold(
        typing_context: Any, x: nb.Type, other: nb.Type, center: nb.Type, extra: nb.Type, start: nb.Type, made: nb.Type
    ) -> Any:
        calls = _Calls(
            ufunc.__name__,
            _typed(typing_context, terms, x.dtype, other.dtype, center.dtype),
            _typed(typing_context, finished, type_, nb.intp, extra.dtype),
        )

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _Writer(context, builder, signature, arguments, calls, neutral)
            if needs_elements:
                writer.refuse_empty()
            writer.write()
            return context.get_dummy_value()

        return nb.void(x, other, center, extra, type_, made), generate

    return fold


class _Calls(NamedTuple):
    """What a fold calls: an operation, and functions with their types, or None."""

    combine: str
    term: Any
    finish: Any


def _typed(typing_context: Any, function: Any, *types: nb.Type) -> Any:
    if function is None:
        return None
    type_ = nb.Dispatcher(function)
    return type_, typing_context.resolve_function_type(type_, types, {})


class _Writer:
    """Writes the loops of a fold."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, calls: _Calls, neutral: Any) -> None:
        self._context, self._builder, self._calls = context, builder, calls
        self._writer = writer_of(builder)
        names = ("x", "other", "center", "extra", "start", "made")
        arrays = {name: each for name, each in zip(names, zip(signature.args, arguments)) if name != "start"}
        self._types = {name: type_.dtype for name, (type_, _) in arrays.items()}
        self._data = {name: parts(context, builder, *each)[0] for name, each in arrays.items()}
        self._lengths = parts(context, builder, *arrays["x"])[1]
        # From one index of the first axis to the next, in elements.
        self._step, self._result_step = (self._first_step(*arrays[name]) for name in ("x", "made"))
        self._type, self._start = signature.args[4], arguments[4]
        self._neutral = context.get_constant(self._type, neutral)
        # The number of elements of a result.
        self._count = builder.mul(self._lengths[1], self._lengths[3])

    def _first_step(self, array: nb.Array, value: Any) -> Any:
        item = self._context.get_abi_sizeof(self._context.get_data_type(array.dtype))
        return self._builder.sdiv(parts(self._context, self._builder, array, value)[2][0], _I64(item))

    def refuse_empty(self) -> None:
        """Emit an error for results of no elements."""
        builder, (kept, _, between, _, width) = self._builder, self._lengths
        results = builder.mul(builder.mul(kept, between), width)
        is_wrong = builder.and_(
            builder.icmp_signed("==", self._count, _I64(0)), builder.icmp_signed("!=", results, _I64(0))
        )
        with cgutils.if_unlikely(builder, is_wrong):
            message = "zero-size array to reduction operation which has no identity"
            self._context.call_conv.return_user_exc(builder, ValueError, (message,))

    def write(self) -> None:
        """Emit the loops, for rows of one element and of several."""
        kept, _, between, _, width = self._lengths
        builder = self._builder
        number = self._context.get_data_type(self._type)
        lanes, pairs = (
            cgutils.gep_inbounds(builder, cgutils.alloca_once(builder, ir.ArrayType(number, size)), 0, 0)
            for size in (_LANES, 64)
        )
        with builder.if_else(builder.icmp_signed("==", width, _I64(1))) as (is_last, is_before):
            for branch in (is_last, is_before):
                with branch, cgutils.for_range(builder, kept) as a, cgutils.for_range(builder, between) as c:
                    if branch is is_last:
                        self._fold_run(a.index, c.index, lanes, pairs)
                    else:
                        self._fold_rows_of(a.index, c.index)

    def _fold_rows_of(self, a: Any, c: Any) -> None:
        """Fold rows into a row of results."""
        builder, width = self._builder, self._lengths[4]
        at = self._place_of_result(a, c, width)
        made = builder.gep(self._data["made"], [at], inbounds=True)
        with cgutils.for_range(builder, width) as k:
            self._store(made, k.index, self._start)
        with cgutils.for_range(builder, self._lengths[1]) as b:
            begin = self._begin(a, b.index, c)
            self._fold_rows(begin, self._lengths[3], width, made, lambda k: self._load("center", builder.add(at, k)))
        if self._calls.finish:
            with cgutils.for_range(builder, width) as k:
                self._finish(self._number(made, k.index), builder.add(at, k.index))

    def _fold_run(self, a: Any, c: Any, lanes: Any, pairs: Any) -> None:
        """Fold neighbouring elements into one result."""
        builder, n = self._builder, self._lengths[3]
        at = self._place_of_result(a, c, _I64(1))
        center = self._load("center", at)
        total = cgutils.alloca_once_value(builder, self._start)
        builder.store(self._start, total)
        chunks = cgutils.alloca_once(builder, _I64)
        builder.store(_I64(0), chunks)
        with cgutils.for_range(builder, self._lengths[1]) as b:
            begin = self._begin(a, b.index, c)
            with builder.if_else(builder.icmp_signed("<=", n, _I64(_FEW))) as (are_few, are_more):
                with are_few, cgutils.for_range(builder, n) as i:
                    term = self._term(builder.add(begin, i.index), center)
                    builder.store(self._combine(builder.load(total), term), total)
                with (
                    are_more,
                    builder.if_else(builder.icmp_signed("<", n, _I64(_MANY))) as (are_some, are_many),
                ):
                    with are_some:
                        builder.store(self._combine(builder.load(total), self._fold_some(begin, n, center)), total)
                    with (
                        are_many,
                        cgutils.for_range(builder, self._ratio(builder.add(n, _I64(_CHUNK - 1)), _CHUNK)) as chunk,
                    ):
                        done = builder.mul(chunk.index, _I64(_CHUNK))
                        left = builder.sub(n, done)
                        size = builder.select(builder.icmp_signed("<", left, _I64(_CHUNK)), left, _I64(_CHUNK))
                        number = self._fold_chunk(builder.add(begin, done), size, center, lanes)
                        self._push(number, pairs, chunks)
        count = builder.load(chunks)
        with cgutils.for_range(builder, builder.sub(_I64(64), builder.ctlz(count, cgutils.false_bit))) as level:
            is_set = builder.trunc(builder.lshr(count, level.index), ir.IntType(1))
            with builder.if_then(is_set):
                builder.store(self._combine(self._number(pairs, level.index), builder.load(total)), total)
        self._finish(builder.load(total), at)

    def _fold_some(self, begin: Any, size: Any, center: Any) -> Any:
        """Fold neighbouring elements in a few lanes, which become one vector."""
        builder, neutral = self._builder, self._neutral
        lanes = [cgutils.alloca_once(builder, neutral.type) for _ in range(_FEW)]

        def take(lane: Any, at: Any) -> None:
            builder.store(self._combine(builder.load(lane), self._term(at, center)), lane)

        for lane in lanes:
            builder.store(neutral, lane)
        rows = self._ratio(size, _FEW)
        with cgutils.for_range(builder, rows) as row:
            at = builder.add(begin, builder.mul(row.index, _I64(_FEW)))
            for k, lane in enumerate(lanes):
                take(lane, builder.add(at, _I64(k)))
        whole = builder.mul(rows, _I64(_FEW))
        with cgutils.for_range(builder, builder.sub(size, whole)) as k:
            take(lanes[0], builder.add(begin, builder.add(whole, k.index)))
        numbers = [builder.load(lane) for lane in lanes]
        while len(numbers) > 1:
            half = len(numbers) // 2
            numbers = [self._combine(a, b) for a, b in zip(numbers[:half], numbers[half:])]
        return numbers[0]

    def _fold_chunk(self, begin: Any, size: Any, center: Any, lanes: Any) -> Any:
        """Fold neighbouring elements in lanes, whose results are combined in pairs."""
        builder = self._builder
        with cgutils.for_range(builder, _I64(_LANES)) as k:
            self._store(lanes, k.index, self._neutral)
        rows = self._ratio(size, _LANES)
        self._fold_rows(begin, rows, _I64(_LANES), lanes, lambda k: center)
        whole = builder.mul(rows, _I64(_LANES))
        with cgutils.for_range(builder, builder.sub(size, whole)) as k:
            term = self._term(builder.add(begin, builder.add(whole, k.index)), center)
            self._store(lanes, k.index, self._combine(self._number(lanes, k.index), term))
        half = _LANES // 2
        while half:
            with cgutils.for_range(builder, _I64(half)) as k:
                other = self._number(lanes, builder.add(k.index, _I64(half)))
                self._store(lanes, k.index, self._combine(self._number(lanes, k.index), other))
            half //= 2
        return self._number(lanes, _I64(0))

    def _push(self, number: Any, pairs: Any, chunks: Any) -> None:
        """Combine the result of a chunk with those before it, as adding one carries in a binary number."""
        builder = self._builder
        count = builder.load(chunks)
        carried = cgutils.alloca_once(builder, number.type)
        builder.store(number, carried)
        levels = builder.cttz(builder.not_(count), cgutils.false_bit)
        with cgutils.for_range(builder, levels) as level:
            builder.store(self._combine(self._number(pairs, level.index), builder.load(carried)), carried)
        self._store(pairs, levels, builder.load(carried))
        builder.store(builder.add(count, _I64(1)), chunks)

    def _fold_rows(self, begin: Any, rows: Any, width: Any, into: Any, center_of: Callable[[Any], Any]) -> None:
        """Combine each column with its accumulator, four rows at a time."""
        builder = self._builder
        fours = self._ratio(rows, 4)
        with cgutils.for_range(builder, fours) as four:
            row = builder.add(begin, builder.mul(builder.mul(four.index, _I64(4)), width))
            starts = [row]
            for _ in range(3):
                starts.append(builder.add(starts[-1], width))
            with cgutils.for_range(builder, width) as k:
                center = center_of(k.index)
                a, b, c, d = (self._term(builder.add(start, k.index), center) for start in starts)
                number = self._combine(self._combine(a, b), self._combine(c, d))
                self._store(into, k.index, self._combine(self._number(into, k.index), number))
        done = builder.mul(fours, _I64(4))
        with cgutils.for_range(builder, builder.sub(rows, done)) as i:
            row = builder.add(begin, builder.mul(builder.add(done, i.index), width))
            with cgutils.for_range(builder, width) as k:
                term = self._term(builder.add(row, k.index), center_of(k.index))
                self._store(into, k.index, self._combine(self._number(into, k.index), term))

    def _ratio(self, number: Any, divisor: int) -> Any:
        return self._builder.lshr(number, number.type(divisor.bit_length() - 1))

    def _place_of_result(self, a: Any, c: Any, width: Any) -> Any:
        return self._builder.add(self._builder.mul(a, self._result_step), self._builder.mul(c, width))

    def _begin(self, a: Any, b: Any, c: Any) -> Any:
        builder, (_, _, between, n, width) = self._builder, self._lengths
        row = builder.add(builder.mul(b, between), c)
        return builder.add(builder.mul(a, self._step), builder.mul(row, builder.mul(n, width)))

    def _load(self, name: str, at: Any) -> Any:
        place = self._builder.gep(self._data[name], [at], inbounds=True)
        return self._context.unpack_value(self._builder, self._types[name], place)

    def _number(self, place: Any, at: Any) -> Any:
        place = self._builder.gep(place, [at], inbounds=True)
        return self._context.unpack_value(self._builder, self._type, place)

    def _store(self, place: Any, at: Any, number: Any) -> None:
        self._context.pack_value(self._builder, self._type, number, self._builder.gep(place, [at], inbounds=True))

    def _term(self, at: Any, center: Any) -> Any:
        x, other = self._load("x", at), self._load("other", at)
        return self._call(self._calls.term, self._types["x"], x, other, center)

    def _combine(self, a: Any, b: Any) -> Any:
        return EMITTERS[self._calls.combine](self._writer, as_dtype(self._type), a, b)

    def _finish(self, number: Any, at: Any) -> None:
        result = self._call(self._calls.finish, self._type, number, self._count, self._load("extra", at))
        self._store(self._data["made"], at, result)

    def _call(self, function: Any, type_: nb.Type, *values: Any) -> Any:
        """Emit a call, and return its result as a number of the dtype; the first value if there is no function."""
        result = values[0]
        if function is not None:
            called, signature = function
            result, type_ = self._context.get_function(called, signature)(self._builder, values), signature.return_type
        return self._context.cast(self._builder, result, type_, self._type)
