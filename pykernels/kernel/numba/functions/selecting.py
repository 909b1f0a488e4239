"""Find, read and write the elements that masks and choices select."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.kernel.numba.arrays import masking
from pykernels.kernel.numba.copying import reinterpret
from pykernels.kernel.numba.functions.indexing import as_given, broadcast
from pykernels.kernel.numba.implementing import compiled, implements, is_array, known

# Numbers of which NumPy may make other dtypes, by the kind of their own, and the most combinations to try.
_EXAMPLES = {"i": (1, -1, 100), "f": (1, 0.5, 1e300)}
_MOST_COMBINATIONS = 2000


@compiled
def _flags_of(array: Any) -> Any:
    """Return as a vector which elements of an array are not 0."""
    flags = np.ascontiguousarray(array).reshape(array.size) != 0
    return reinterpret(flags, np.uint8)


@compiled
def _flags_of_mask(mask: Any) -> Any:
    return masking.flags_of(mask, mask.shape)


def _flags(mask: Any) -> Callable[..., Any] | None:
    """Return a function that gives the truth values of an array as a vector of zeros and ones."""
    if not is_array(mask) or mask.ndim == 0:
        return None
    return _flags_of_mask if isinstance(mask.dtype, nb.Boolean) else _flags_of


@implements(np.flatnonzero)
def _flatnonzero(a: Any) -> Any:
    flags_of = _flags(a)
    return flags_of and (lambda a: masking.positions_of(flags_of(a)))


@compiled
def _places(lengths: Any, flags: Any) -> Any:
    """Return the positions of the true elements, along each axis of an array with these lengths."""
    rows = masking.positions_of(flags)
    places = np.empty((len(lengths), rows.size), np.intp)
    for back in range(len(lengths) - 1):
        axis = len(lengths) - 1 - back
        length, row, start = lengths[axis], 0, 0
        for i in range(rows.size):
            while rows[i] >= start + length:
                row, start = row + 1, start + length
            places[axis, i] = rows[i] - start
            rows[i] = row
    places[0] = rows
    return places


def _unpacking(ndim: int) -> Any:
    namespace: dict[str, Any] = {}
    exec(f"def unpack(places):\n    return ({''.join(f'places[{i}], ' for i in range(ndim))})", namespace)
    return compiled(namespace["unpack"])


@implements(np.nonzero, method="nonzero")
def _nonzero(a: Any) -> Any:
    flags_of = _flags(a)
    if flags_of is None:
        return None
    unpack = _unpacking(a.ndim)
    return lambda a: unpack(_places(a.shape, flags_of(a)))


@implements(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return (lambda condition: np.nonzero(condition)) if _flags(condition) else None
    if (is_array(x) and is_array(y)) or x is None or y is None:
        return None
    if not any(map(is_array, (condition, x, y))):
        return _chosen_number(x, y)
    return _selected("condition, x, y", {"condition": condition}, {"x": x}, {"y": y})


def _chosen_number(x: Any, y: Any) -> Any:
    """Return a function that returns one of two numbers: NumPy's array without axes would be made in memory."""
    dtype = _common_dtype([x, y])
    if dtype is None:
        return None
    number = from_dtype(dtype)
    return lambda condition, x, y: number(x) if condition else number(y)


@implements(np.argwhere)
def _argwhere(a: Any) -> Any:
    flags_of = _flags(a)
    return flags_of and (lambda a: np.ascontiguousarray(_places(a.shape, flags_of(a)).T))


@implements(np.compress)
def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    flags_of = _flags(condition)
    if flags_of is None or condition.ndim != 1 or out is not None:
        return None
    if axis is None:
        return lambda condition, a: np.take(a, masking.positions_of(flags_of(condition)))
    return lambda condition, a, axis: np.take(a, masking.positions_of(flags_of(condition)), axis)


@implements(method="compress")
def _compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    found = _compress(condition, a, axis, out)
    return found and (lambda a, condition, axis: np.compress(condition, a, axis))


@implements(np.extract)
def _extract(condition: Any, arr: Any) -> Any:
    flags_of = _flags(condition)
    return flags_of and (lambda condition, arr: np.take(arr, masking.positions_of(flags_of(condition))))


@implements(np.copyto)
def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Any:
    if not _is_writable(dst) or not _may_hold(dst, src, casting):
        return None
    ndim, dtype, is_number = dst.ndim, as_dtype(dst.dtype), not is_array(src)
    if where is True:

        def copy(dst: Any, src: Any) -> None:
            dst[...] = src

        return copy
    if not is_array(where) or not isinstance(where.dtype, nb.Boolean):
        return None

    def copy_where(dst: Any, src: Any, where: Any) -> None:
        mask = np.empty(dst.shape, np.bool_)
        mask[...] = where
        if is_number:
            dst[mask] = src
        else:
            full = np.empty(dst.shape, dtype)
            full[...] = src
            dst[mask] = full[mask]

    return copy_where if ndim else None


def _is_writable(array: Any) -> bool:
    return is_array(array) and array.mutable and array.ndim > 0


def _may_hold(array: nb.Array, value: Any, casting: Any) -> bool:
    """Whether NumPy writes a number, or an array by this rule of casting, to an array."""
    if is_array(value):
        return bool(np.can_cast(as_dtype(value.dtype), as_dtype(array.dtype), casting))
    if isinstance(value, (float, nb.Float)):
        return isinstance(array.dtype, nb.Float)
    return isinstance(value, (bool, nb.Boolean)) or (
        isinstance(value, (int, nb.Integer)) and not isinstance(array.dtype, nb.Boolean)
    )


def _writing(arr: Any, mask: Any, values: Any, write: Callable[..., Any]) -> Any:
    flags_of = _flags(mask)
    if not _is_writable(arr) or flags_of is None or not _may_hold(arr, values, "safe"):
        return None
    dtype, is_number = as_dtype(arr.dtype), not is_array(values)

    @compiled
    def vector_of(values: Any) -> Any:
        return (
            np.full(1, values, dtype) if is_number else np.ascontiguousarray(values).astype(dtype).reshape(values.size)
        )

    @compiled
    def put(arr: Any, mask: Any, values: Any) -> None:
        if mask.size != arr.size:
            raise ValueError("the mask has another size")
        made, flags = arr.copy(), flags_of(mask)
        write(made.reshape(made.size), flags, vector_of(values))
        arr[...] = made

    return put


@compiled
def _put_each(vector: Any, flags: Any, values: Any) -> None:
    """Write to each selected element the value at its position, in values that repeat."""
    if values.size > 0:
        at = 0
        for i in range(vector.size):
            if flags[i]:
                vector[i] = values[at]
            at = at + 1 if at + 1 < values.size else 0


@compiled
def _put_next(vector: Any, flags: Any, values: Any) -> None:
    """Write to each selected element the next value, in values that repeat."""
    at = 0
    if values.size == 0 and masking.count_of(flags) > 0:
        raise ValueError("there are no values")
    for i in range(vector.size):
        if flags[i]:
            vector[i] = values[at]
            at = at + 1 if at + 1 < values.size else 0


@implements(np.putmask)
def _putmask(a: Any, mask: Any, values: Any) -> Any:
    put = _writing(a, mask, values, _put_each)
    return put and (lambda a, mask, values: put(a, mask, values))


@implements(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    put = _writing(arr, mask, vals, _put_next)
    return put and (lambda arr, mask, vals: put(arr, mask, vals))


@implements(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions = {f"condlist[{at}]": each for at, each in enumerate(_members(condlist))}
    choices = {f"choicelist[{at}]": each for at, each in enumerate(_members(choicelist))}
    return _selected("condlist, choicelist, default", conditions, choices, {"default": default})


def _selected(
    parameters: str, conditions: Mapping[str, Any], choices: Mapping[str, Any], default: Mapping[str, Any]
) -> Any:
    """Return a function that takes each element from the first choice whose condition holds; each has its code."""
    are_flags = all(is_array(each) and isinstance(each.dtype, nb.Boolean) and each.ndim for each in conditions.values())
    given = {**choices, **default}
    dtype = _common_dtype([*given.values()])
    if not conditions or len(conditions) != len(choices) or not are_flags or dtype is None:
        return None
    blends = [
        f"blend(vector, flags_of(as_given({place}, shape, made)), {_spread(name, each, dtype)})"
        if is_array(each)
        else f"fill_selected(vector, flags_of(as_given({place}, shape, made)), number({name}))"
        for place, (name, each) in zip(conditions, choices.items())
    ]
    arrays = [*conditions, *(name for name, each in given.items() if is_array(each))]
    return _written(parameters, arrays, [f"made[...] = {''.join(default)}", *reversed(blends)], dtype)


@implements(np.choose, method="choose")
def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    of = _members(choices)
    dtype = _common_dtype(of) if of and all(map(is_array, of)) else None
    is_index = is_array(a) and isinstance(a.dtype, nb.Integer) and a.ndim
    if dtype is None or not is_index or out is not None or mode not in _INDICES:
        return None
    names, index_of = [f"choices[{at}]" for at in range(len(of))], _INDICES[mode]
    blends = [
        f"blend_chosen(vector, index, {at}, {_spread(name, each, dtype)})"
        for at, (name, each) in enumerate(zip(names, of))
    ]
    index = f"index = index_of(as_given(a, shape, made), {len(of)})"
    return _written("a, choices", ["a", *names], [index, *blends], dtype, index_of=index_of, blend_chosen=_blend_chosen)


@compiled
def _blend_chosen(vector: Any, index: Any, choice: Any, other: Any) -> None:
    for i in range(vector.size):
        vector[i] = other[i] if index[i] == choice else vector[i]


@compiled
def _checked(index: Any, count: Any) -> Any:
    is_outside = False
    for i in range(index.size):
        is_outside |= (index[i] < 0) | (index[i] >= count)
    if is_outside:
        raise ValueError("there is no such choice")
    return index


@compiled
def _wrapped(index: Any, count: Any) -> Any:
    return index % count


@compiled
def _clipped(index: Any, count: Any) -> Any:
    return np.minimum(np.maximum(index, 0), count - 1)


# What each mode makes of the numbers of choices.
_INDICES = {"raise": _checked, "wrap": _wrapped, "clip": _clipped}


def _members(values: Any) -> Sequence[Any]:
    """Return the known values and the types in a tuple; nothing if it is no tuple."""
    return [known(each) for each in values] if isinstance(values, (nb.BaseTuple, tuple)) else []


def _common_dtype(values: Sequence[Any]) -> Any:
    """Return NumPy's dtype for arrays and numbers together; None if it depends on what is not known of the numbers."""
    possible = [_possible(value) for value in values]
    if math.prod(map(len, possible)) > _MOST_COMBINATIONS:
        return None
    try:
        found = {np.result_type(*each) for each in itertools.product(*possible)}
    except OverflowError:  # a number that the other's dtype cannot hold
        return None
    return found.pop() if len(found) == 1 else None


def _possible(value: Any) -> Sequence[Any]:
    """Return what a known value or a type may stand for, as far as the dtype of it with others depends on it."""
    if not isinstance(value, nb.Type):
        return [value]
    dtype = as_dtype(getattr(value, "dtype", value))
    if is_array(value) and value.ndim:
        return [dtype]
    with np.errstate(over="ignore"):  # the greatest may be infinite
        numbers = [dtype.type(each) for each in _EXAMPLES.get(dtype.kind, (1,))]
    # numba does not tell Python's numbers from NumPy's.
    is_pythons = dtype in (np.int64, np.float64, np.bool_) and not is_array(value)
    return [*numbers, *(each.item() for each in numbers if is_pythons)]


def _spread(text: str, array: nb.Array, dtype: Any) -> str:
    is_same = as_dtype(array.dtype) == dtype
    return f"as_given({text}, shape, made)" if is_same else f"broadcast({text}, shape, dtype)"


def _written(parameters: str, arrays: Sequence[str], lines: Sequence[str], dtype: Any, **names: Any) -> Any:
    """Return a function that makes an array of the shape of several, and fills it by further lines."""
    shapes = ", ".join(f"{each}.shape" for each in arrays)
    made = [f"made = np.empty(np.broadcast_shapes({shapes}), dtype)", "shape = made.shape"]
    body = [*made, "vector = made.reshape(made.size)", *lines, "return made"]
    namespace: dict[str, Any] = {"np": np, "dtype": dtype, "number": dtype.type, **names}
    namespace |= {"as_given": as_given, "broadcast": broadcast, "flags_of": _bytes_of}
    namespace |= {"blend": masking.blend, "fill_selected": masking.fill_selected}
    exec(f"def call({parameters}):\n    " + "\n    ".join(body), namespace)
    return namespace["call"]


@compiled
def _bytes_of(flags: Any) -> Any:
    return reinterpret(flags, np.uint8)
