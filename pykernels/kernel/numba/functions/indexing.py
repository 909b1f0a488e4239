"""Read and assign arrays at indices with arrays, masks and lists among slices and numbers, as NumPy combines them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types as nb
from numba.core.types.misc import SliceType
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.arrays import gathering, masking
from pykernels.kernel.numba.implementing import compiled, is_array
from pykernels.kernel.numba.target import kernel_target

_SLICE, _NEW, _NUMBER, _INDICES, _MASK = range(5)


@dataclass(frozen=True)
class _Part:
    """A part of an index: its kind, its Python expression, the axes that it takes and those of its own."""

    kind: int
    text: str
    taken: int = 1
    ndim: int = 0

    @property
    def picks(self) -> bool:
        return self.kind in (_NUMBER, _INDICES, _MASK)


def _part(type_: nb.Type, text: str) -> _Part | None:
    """Return a part of an index; None if it is of no known kind."""
    if isinstance(type_, SliceType):
        return _Part(_SLICE, text)
    if isinstance(type_, nb.EllipsisType):
        return _Part(_SLICE, "...", 0)
    if isinstance(type_, nb.NoneType):
        return _Part(_NEW, "None", 0)
    if isinstance(type_, nb.Integer):
        return _Part(_NUMBER, text)
    if isinstance(type_, nb.Array) and type_.ndim == 0 and isinstance(type_.dtype, nb.Integer):
        return _Part(_NUMBER, f"{text}[()]")
    if isinstance(type_, nb.Array) and type_.ndim > 0 and isinstance(type_.dtype, nb.Integer):
        return _Part(_INDICES, text, 1, type_.ndim)
    if isinstance(type_, nb.Array) and type_.ndim > 0 and isinstance(type_.dtype, nb.Boolean):
        return _Part(_MASK, text, type_.ndim, 1)
    numbers = type_.types if isinstance(type_, nb.BaseTuple) else [type_.dtype] if isinstance(type_, nb.List) else []
    if numbers and all(isinstance(each, (nb.Integer, nb.Boolean)) for each in numbers):
        return _part(nb.Array(nb.unliteral(numbers[0]), 1, "C"), f"np.array({text})")
    return None


def _parts(ndim: int, index: nb.Type) -> list[_Part] | None:
    """Return the parts of an index, with a slice for each axis that it leaves out; None if arrays pick nothing."""
    is_tuple = isinstance(index, nb.BaseTuple)
    types = list(index.types) if is_tuple else [index]
    found = [_part(type_, f"index[{i}]" if is_tuple else "index") for i, type_ in enumerate(types)]
    if None in found or not any(each.kind in (_INDICES, _MASK) for each in found if each):
        return None
    parts = [each for each in found if each]
    left = ndim - sum(each.taken for each in parts)
    rest = [i for i, each in enumerate(parts) if each.text == "..."]
    if left < 0 or len(rest) > 1:
        return None
    at = rest[0] if rest else len(parts)
    return parts[: at + 1] + [_Part(_SLICE, ":")] * left + parts[at + 1 :]


def _prepared(ndim: int, index: nb.Type, *, is_written: bool) -> tuple[str, int] | None:
    """Return code for an index of an array, and the rank of what it picks.

    The code sets `part`, a view of the array; `places`, as `gathering.gather` takes them; and `shape`, of the result.
    """
    parts = _parts(ndim, index)
    if parts is None:
        return None
    basic = [text for each in parts for text in ([":"] * each.taken if each.picks else [each.text]) if text != "..."]
    picking: list[tuple[_Part, str]] = []
    left: list[int] = []
    at = 0
    for each in parts:
        end = at + each.taken + (each.kind == _NEW)
        if each.picks:
            axes = f"{at}:{end}" if each.kind == _MASK else f"{at}"
            picking.append((each, f"{each.text}, part.shape[{axes}], part.strides[{axes}]"))
        else:
            left += range(at, end)
        at = end
    picks = [each.picks for each in parts]
    first, last = picks.index(True), len(picks) - 1 - picks[::-1].index(True)
    # The picked axes come first if others lie between them.
    before = sum(each.taken + (each.kind == _NEW) for each in parts[:first]) if all(picks[first:last]) else 0
    if len(picking) == 1 and parts[first].kind == _INDICES:
        checked = "apart(checked(indices, length), array)" if is_written else "checked(indices, length)"
        lines = [f"indices, length, step = {picking[0][1]}", f"picked = {checked}"]
    else:
        lines = [f"indices, step = {_sum(picking)}, 1", "picked = source(indices.reshape(indices.size))"]
    outer, inner = left[:before], left[before:]
    lines.append(f"places = ({_places(outer)}, picked, step, {_places(inner)})")
    lines.append(f"shape = ({_lengths(outer)}) + indices.shape + ({_lengths(inner)})")
    view = f"part = array[{', '.join(basic)}]" if set(basic) > {":"} else "part = array"
    return "\n    ".join([view, *lines]), len(left) + max(each.ndim for each in parts)


def _sum(picking: Sequence[tuple[_Part, str]]) -> str:
    """Return the expression of the sums of all places that parts of an index pick."""
    functions = {_NUMBER: "number_place", _INDICES: "index_places", _MASK: "mask_places"}
    total, ndim = "", 0
    for each, arguments in sorted(picking, key=lambda pair: -pair[0].ndim):
        places = f"{functions[each.kind]}({arguments})"
        if total and each.kind == _INDICES and each.ndim == ndim:
            total = f"further_places({total}, {arguments})"
        else:
            total = f"{total} + {places}" if total else places
        ndim = ndim or each.ndim
    return total


def _lengths(axes: Sequence[int]) -> str:
    return "".join(f"part.shape[{axis}], " for axis in axes)


def _places(axes: Sequence[int]) -> str:
    return f"places_of((1, {_lengths(axes)}), (0, {''.join(f'part.strides[{axis}], ' for axis in axes)}))"


def _written(header: str, *lines: str, **names: Any) -> Callable[..., Any]:
    namespace = {"np": np, **vars(gathering), **vars(masking), **names}
    namespace |= {"apart": apart, "as_given": as_given, "broadcast": broadcast}
    exec(f"def {header}:\n    " + "\n    ".join(lines), namespace)
    function: Callable[..., Any] = namespace[header.partition("(")[0]]
    return function


def _is_mask_of(array: nb.Type, index: nb.Type) -> bool:
    """Whether an index selects elements of a contiguous array by a flag for each."""
    is_mask = isinstance(index, nb.Array) and isinstance(index.dtype, nb.Boolean) and index.ndim > 0
    return is_array(array) and array.layout == "C" and is_mask and index.ndim == array.ndim


def _of_mask(dtype: Any) -> Any:
    def getitem(array: Any, index: Any) -> Any:
        flags = masking.flags_of(index, array.shape)
        made = np.empty(masking.count_of(flags), dtype)
        masking.compress(array.reshape(array.size), flags, made)
        return made

    return getitem


def _filling(number: Any) -> Any:
    def setitem(array: Any, index: Any, value: Any) -> None:
        masking.fill_selected(array.reshape(array.size), masking.flags_of(index, array.shape), number(value))

    return setitem


def _expanding(dtype: Any) -> Any:
    def setitem(array: Any, index: Any, value: Any) -> None:
        flags = masking.flags_of(index, array.shape)
        given = broadcast(value, (masking.count_of(flags),), dtype)
        masking.expand(array.reshape(array.size), flags, given)

    return setitem


@overload(operator.getitem, target=kernel_target.name, strict=False)
def _typed_getitem(array: Any, index: Any) -> Any:
    if _is_mask_of(array, index):
        return _of_mask(as_dtype(array.dtype))
    prepared = _prepared(array.ndim, index, is_written=False) if is_array(array) else None
    if prepared is None:
        return None
    gathered = "gather(source(part), *places, made.reshape(made.size))"
    lines = [prepared[0], "made = np.empty(shape, dtype)", gathered, "return made"]
    return _written("getitem(array, index)", *lines, dtype=as_dtype(array.dtype))


@overload(operator.setitem, target=kernel_target.name, strict=False)
def _typed_setitem(array: Any, index: Any, value: Any) -> Any:
    if not is_array(array) or not array.mutable:
        return None
    dtype, is_number = as_dtype(array.dtype), isinstance(value, (nb.Boolean, nb.Integer, nb.Float))
    if not is_number and not is_array(value):
        return None
    if _is_mask_of(array, index):
        return _filling(dtype.type) if is_number else _expanding(dtype)
    prepared = _prepared(array.ndim, index, is_written=True)
    if prepared is None:
        return None
    code, ndim = prepared
    if is_number:
        filled = "fill(memory(part), *places, value)"
        return _written("setitem(array, index, value)", code, filled)
    lines = [code, _given(value, dtype, ndim), "scatter(memory(part), *places, given)"]
    return _written("setitem(array, index, value)", *lines, dtype=dtype)


def combining(array: nb.Array, index: nb.Type, value: Any, dtype: np.dtype, apply: Callable[..., Any]) -> Any:
    """Return a function of an array, an index and a value that replaces each picked element by ``apply(it, other)``.

    The other elements are those of the value, converted to `dtype`. An element that is picked several times changes
    several times, in order. Return None for an index without arrays.
    """
    prepared = _prepared(array.ndim, index, is_written=True)
    if prepared is None or (isinstance(value, nb.Array) and value.ndim > prepared[1]):
        return None
    code, ndim = prepared

    @compiled
    def combine(vector: Any, outer: Any, picked: Any, step: Any, inner: Any, given: Any) -> None:
        at, size, given_size, n = 0, vector.itemsize, given.itemsize, inner.size
        is_run = gathering.lie_in_run(inner, size)
        for o in range(outer.size):
            for b in range(picked.size):
                place = outer[o] + picked[b] * step
                if is_run:
                    for i in range(n):
                        here, other = place + i * size, gathering.load(given, at + i * given_size)
                        gathering.store(vector, here, apply(gathering.load(vector, here), other))
                else:
                    for i in range(n):
                        here, other = place + inner[i], gathering.load(given, at + i * given_size)
                        gathering.store(vector, here, apply(gathering.load(vector, here), other))
                at += n * given_size

    lines = [code, _given(value, dtype, ndim), "combine(memory(part), *places, given)"]
    return _written("at(array, index, value)", *lines, dtype=dtype, combine=combine)


def _given(value: Any, dtype: np.dtype, ndim: int) -> str:
    """Return the statement that sets `given` to the elements of a value for an index of so many axes, as a vector."""
    is_alike = isinstance(value, nb.Array) and (as_dtype(value.dtype), value.ndim) == (dtype, ndim)
    return f"given = {'as_given(value, shape, array)' if is_alike else 'broadcast(value, shape, dtype)'}"


@compiled
def broadcast(value: Any, shape: Any, dtype: Any) -> Any:
    """Return the elements of an array as a contiguous vector of another shape and dtype."""
    made = np.empty(shape, dtype)
    made[...] = value
    return gathering.source(made)


@compiled
def as_given(value: Any, shape: Any, target: Any) -> Any:
    """Return `broadcast`, without a copy of a contiguous array of this shape that shares no memory with the target."""
    (begin, end), (first, last) = _extent(value), _extent(target)
    if value.shape == shape and (end <= first or last <= begin):
        return gathering.source(np.ascontiguousarray(value))
    return broadcast(value, shape, value.dtype)


@compiled
def apart(vector: Any, target: Any) -> Any:
    """Return a vector to read from; its copy if it shares memory with a target, which may change meanwhile."""
    (begin, end), (first, last) = _extent(vector), _extent(target)
    if end <= first or last <= begin:
        return gathering.source(vector)
    return gathering.source(vector.copy())


@compiled
def _extent(array: Any) -> Any:
    """Return where the memory of an array begins and ends."""
    begin = array.ctypes.data
    end = begin + array.itemsize
    for length, stride in zip(array.shape, array.strides):
        reach = (length - 1) * stride
        begin, end = begin + min(reach, 0), end + max(reach, 0)
    return begin, end
