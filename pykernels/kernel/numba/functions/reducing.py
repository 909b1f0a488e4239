"""Sums, products, extrema and tests of all elements, along any axes and with NumPy's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.expression.foldings import UFUNC_REDUCTIONS
from pykernels.kernel.expression.operations import OPERATIONS, neutral_of
from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.along import checked_axis
from pykernels.kernel.numba.functions.folded_axes import Axes, blocks, dtype_of, lengths_left
from pykernels.kernel.numba.functions.folding import folder
from pykernels.kernel.numba.functions.moving import positions
from pykernels.kernel.numba.functions.views import arranged
from pykernels.kernel.numba.implementing import compiled, implements, implements_of_ufuncs, is_array, require_known
from pykernels.kernel.numba.parts.single_calls import along_known_axes


# Which elements count, of an array and a mask.
def _is_in_mask(x: Any, other: Any) -> Any:
    return other


def _is_number(x: Any, other: Any) -> Any:
    return x == x


def _is_number_in_mask(x: Any, other: Any) -> Any:
    return (x == x) & other


#: By whether there is a mask, and whether NaN is left out.
COUNTS = {(True, False): _is_in_mask, (False, True): _is_number, (True, True): _is_number_in_mask}


def fold_by(
    ufunc: np.ufunc,
    dtype: np.dtype,
    term: Any = None,
    finish: Any = None,
    counts: Any = None,
    *,
    may_be_empty: Any = False,
) -> Any:
    """Return `folder` for a ufunc's `reduce` over the elements that count, by a function in `COUNTS`."""
    kind = dtype.type
    neutral = kind(neutral_of(ufunc.__name__, dtype))
    needs_elements = ufunc.identity is None and not may_be_empty
    if counts is not None:
        plain, is_counted = compiled(term or (lambda x, other, center: x)), compiled(counts)

        def term(x: Any, other: Any, center: Any) -> Any:
            return kind(plain(x, other, center)) if is_counted(x, other) else neutral

    return folder(ufunc, neutral, dtype, term, finish, needs_elements=needs_elements)


class Call:
    """A call that folds an array: what its arguments make of it.

    Raises
    ------
    TypingError
        NumPy is to compute it.
    """

    def __init__(
        self, a: nb.Array, axis: Any, keepdims: Any, where: Any = True, out: Any = None, initial: Any = None
    ) -> None:
        if isinstance(axis, nb.BaseTuple):
            require_known(axis, "the axis")
        require_known(keepdims, "the number of axes")
        self._array, self._axes = a, Axes(axis, a.ndim)
        self._left = a.ndim if keepdims else self._axes.left
        self.is_masked = where is not None and where is not True
        if self.is_masked and not (isinstance(where, nb.Array) and where.dtype == nb.boolean and where.ndim <= a.ndim):
            raise errors.TypingError("where= is no array of booleans")
        self._out, self._needed = (
            out,
            {
                "axis": not self._axes.is_known,
                "where": self.is_masked,
                "initial": initial is not None,
                "out": out is not None,
            },
        )

    def implementation(self, compute: Any, dtype: np.dtype, array: str = "a") -> Callable[..., Any]:
        """Return a function of the array, under its name in NumPy's function, and what is needed at run time.

        It calls ``compute(x, mask, initial, made)`` with `made`, an array of the dtype for the results; `x` and `mask`
        are as `blocks` makes them.
        """
        out, left, limits, ndim = self._out, self._left, self._axes.limits, self._array.ndim
        if out is not None and not (
            isinstance(out, nb.Array) and out.mutable and out.ndim == left and dtype_of(out) == dtype
        ):
            raise errors.TypingError("out= has another dtype or number of axes than the result")
        # numba leaves out what a known condition excludes.
        is_known, is_masked = self._axes.is_known, self.is_masked
        row_major = _itself if self._array.layout == "C" else _copied
        is_given, is_number = out is not None, left == 0

        @compiled
        def run(a: Any, axis: Any, where: Any, initial: Any, out: Any) -> Any:
            if is_known:
                ends = limits
            else:
                at = checked_axis(axis, ndim)
                ends = (at, at, at, at + 1)
            x = blocks(row_major(a), ends)
            made = np.empty(lengths_left(a, ends, left), dtype)
            results = made.reshape((x.shape[0], x.shape[2], x.shape[4]))
            if is_masked:
                mask = np.empty(a.shape, np.bool_)
                copy(mask, np.broadcast_to(where, a.shape))
                compute(x, blocks(mask, ends), initial, results)
            else:
                compute(x, x, initial, results)
            if is_given:
                if out.shape != made.shape:
                    raise ValueError("out= has another shape than the result")
                copy(out, made)
                return out
            if is_number:
                return made[()]
            return made

        names = [name for name, is_needed in self._needed.items() if is_needed]
        passed = ", ".join(name if is_needed else "None" for name, is_needed in self._needed.items())
        made: Callable[..., Any] = eval(f"lambda {', '.join([array, *names])}: run({array}, {passed})", {"run": run})
        return made


@compiled
def _itself(array: Any) -> Any:
    return array


@compiled
def _copied(array: Any) -> Any:
    """Return a contiguous copy of an array."""
    made = np.empty(array.shape, array.dtype)
    copy(made, array)
    return made


def check_start(dtype: np.dtype, initial: Any) -> None:
    """Raise `TypingError` unless ``initial=`` is a number that the dtype can represent, or None."""
    if initial is None:
        return
    is_real = isinstance(initial, (float, nb.Float))
    fits = dtype.kind == "f" or (not is_real and (dtype == np.int64 or not isinstance(initial, nb.Type)))
    if isinstance(initial, int) and dtype.kind in "iu":
        fits = np.iinfo(dtype).min <= initial <= np.iinfo(dtype).max
    if not isinstance(initial, (int, float, nb.Integer, nb.Float)) or not fits:
        raise errors.TypingError(f"initial= is no number of {dtype}")


def result_dtype(ufunc: np.ufunc, a: nb.Array, dtype: Any) -> np.dtype:
    """Return the dtype that NumPy's `reduce` gives the result."""
    require_known(dtype, "the dtype")
    given = dtype_of(a)
    made: np.dtype = ufunc.reduce(np.ones(1, given), dtype=dtype).dtype
    if given.kind == "f" and made.kind in "iu":
        raise errors.TypingError(f"{given} as {made}")
    if made.kind not in "biuf" or made == np.float16:
        raise errors.TypingError(f"a result of {made}")
    return made


def reduce_by(
    function: Any,
    ufunc: np.ufunc,
    a: nb.Array,
    axis: Any,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
    *,
    skips_nan: bool = False,
    array: str = "a",
) -> Any:
    """Return the implementation of ``ufunc.reduce(a, ...)``, which has the parameters that it needs at run time.

    Parameters
    ----------
    function : callable
        The function that the kernel calls.
    skips_nan : bool
        Whether NaN counts as no element.
    array : str
        The name of the first parameter.
    """
    call, made = Call(a, axis, keepdims, where, out, initial), result_dtype(ufunc, a, dtype)
    check_start(made, initial)
    options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial}
    if fused := along_known_axes(function, {array: a, **options}, out, where):
        return fused
    has_start, kind = initial is not None, made.type
    neutral = kind(neutral_of(ufunc.__name__, made))
    fold = fold_by(ufunc, made, counts=COUNTS.get((call.is_masked, skips_nan)), may_be_empty=initial is not None)

    @compiled
    def compute(x: Any, mask: Any, initial: Any, results: Any) -> None:
        if has_start:
            fold(x, mask, results, results, kind(initial), results)
        else:
            fold(x, mask, results, results, neutral, results)

    return call.implementation(compute, made, array)


def _row_of(numbers: Any) -> Any:
    """Return a function that makes an array of a tuple of numbers of one type, such as a shape; None of others."""
    if not isinstance(numbers, (tuple, nb.BaseTuple)):
        return None
    types = {nb.unliteral(each) if isinstance(each, nb.Type) else type(each) for each in numbers}
    if not types:
        return compiled(lambda numbers: np.empty(0, np.float64))
    is_number = len(types) == 1 and all(each in (int, bool) or isinstance(each, nb.Number) for each in types)
    return compiled(lambda numbers: np.array(numbers)) if is_number else None


def _define(ufunc: np.ufunc, *functions: Any, method: str = "", skips_nan: bool = False) -> None:
    """Let functions of NumPy's, and a method, compute the `reduce` of a ufunc."""
    reduce: Any = functions[0]
    has_dtype = "dtype" in inspect.signature(reduce).parameters

    def with_dtype(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        array_of = _row_of(a)
        if array_of and (axis, dtype, out, keepdims, initial, where) == (None, None, None, False, None, True):
            return lambda a: reduce(array_of(a))
        return is_array(a) and reduce_by(
            reduce, ufunc, a, axis, dtype, out, keepdims, initial, where, skips_nan=skips_nan
        )

    def without_dtype(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        return with_dtype(a, axis, None, out, keepdims, initial, where)

    def of_booleans(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, where: Any = True) -> Any:
        return with_dtype(a, axis, None, out, keepdims, None, where)

    has_initial = "initial" in inspect.signature(reduce).parameters
    implements(*functions, method=method)(with_dtype if has_dtype else without_dtype if has_initial else of_booleans)


for _ufunc, _method in UFUNC_REDUCTIONS.items():
    _aliases = {getattr(np, name) for name in (_method, f"a{_method}") if hasattr(np, name)}  # np.amax, np.amin
    _define(getattr(np, _ufunc), *_aliases, method=_method)
_define(np.add, np.nansum, skips_nan=True)
_define(np.multiply, np.nanprod, skips_nan=True)
_define(np.fmax, np.nanmax)
_define(np.fmin, np.nanmin)


@implements(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if not is_array(a):
        return None
    fold = fold_by(np.add, np.dtype(np.intp), lambda x, other, center: x != 0)
    compute = compiled(lambda x, mask, initial, made: fold(x, x, made, made, 0, made))
    return Call(a, axis, keepdims).implementation(compute, np.dtype(np.intp))


def _define_ptp() -> None:
    def typed(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        if not is_array(a) or a.dtype == nb.boolean:
            return None
        dtype = dtype_of(a)
        kind = dtype.type
        greatest = fold_by(np.maximum, dtype)
        least = fold_by(np.minimum, dtype, finish=lambda number, n, highest: kind(highest - number))
        lowest, highest = (kind(neutral_of(name, dtype)) for name in ("maximum", "minimum"))

        @compiled
        def compute(x: Any, mask: Any, initial: Any, made: Any) -> None:
            tops = np.empty(made.shape, dtype)
            greatest(x, x, tops, tops, lowest, tops)
            least(x, x, tops, tops, highest, made)

        return Call(a, axis, keepdims, True, out).implementation(compute, dtype)

    # NumPy 2 has no such method.
    implements(np.ptp, method="ptp" if hasattr(np.ndarray, "ptp") else "")(typed)


_define_ptp()


@implements_of_ufuncs("reduce")
def _reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    row = OPERATIONS.get(ufunc.__name__)
    if not is_array(array) or array.ndim == 0:
        return None
    if ufunc is np.logaddexp and (dtype, out, initial, where) == (None, None, None, True):
        return _log_of_sum(array, axis, keepdims)
    if row is None or row.neutral is None:
        return None
    return reduce_by(ufunc.reduce, ufunc, array, axis, dtype, out, keepdims, initial, where, array="array")


def _log_of_sum(array: nb.Array, axis: Any, keepdims: Any) -> Any:
    require_known(keepdims, "the number of axes")
    if not isinstance(array.dtype, nb.Float):
        return None
    axes = range(array.ndim) if axis is None else positions(axis, array.ndim, "the axis")
    kept = tuple(at for at in range(array.ndim) if keepdims or at not in axes)
    zero, lowest, is_number = dtype_of(array).type(0), dtype_of(array).type(-np.inf), not kept

    def reduce(array: Any) -> Any:
        largest = np.max(array, axis, None, True, lowest)
        shift = np.where(np.isfinite(largest), largest, zero)
        made = arranged(np.log(np.sum(np.exp(array - shift), axis, None, None, True)) + shift, kept)
        if is_number:
            return made[()]
        return made

    return reduce


@implements_of_ufuncs("reduceat")
def _reduceat(ufunc: Any, array: Any, indices: Any, axis: Any = 0) -> Any:
    row = OPERATIONS.get(ufunc.__name__)
    if row is None or row.neutral is None or not is_array(array) or array.ndim == 0:
        return None
    is_row = is_array(indices) and indices.ndim == 1 and isinstance(indices.dtype, nb.Integer)
    places_of = _itself if is_row else _row_of(indices)
    dtype = ufunc.reduceat(np.ones(1, dtype_of(array)), [0]).dtype
    if places_of is None or (dtype.kind == "b" and not isinstance(array.dtype, nb.Boolean)):
        return None
    (at,) = positions(axis, array.ndim, "the axis")
    ends, ndim = (at, at, at, at + 1), array.ndim
    row_major = _itself if array.layout == "C" else _copied
    fold, neutral = fold_by(ufunc, dtype), dtype.type(neutral_of(ufunc.__name__, dtype))

    def reduce_parts(array: Any, indices: Any) -> Any:
        x, places = blocks(row_major(array), ends), places_of(indices)
        (outer, _, _, n, inner), count = x.shape, places.size
        lengths = np.empty(ndim, np.intp)
        for i in range(ndim):
            lengths[i] = count if i == at else array.shape[i]
        made = np.empty(to_fixed_tuple(lengths, ndim), dtype)
        results = made.reshape((outer, count, inner))
        for i in range(count):
            begin = places[i]
            if begin < 0 or begin >= n:
                raise IndexError("an index past the end")
            end = places[i + 1] if i + 1 < count else n
            if end - begin > 1:
                part, result = x[:, :, :, begin:end], results[:, i : i + 1]
                fold(part, part, result, result, neutral, result)
            else:
                results[:, i] = x[:, 0, 0, begin]
        return made

    return reduce_parts
