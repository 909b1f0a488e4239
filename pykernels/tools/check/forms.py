"""The shapes, dtypes and attributes that an op can be called with: those of its samples, and others like them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.errors import PykernelsError
from pykernels.define.definition import OpDef, TensorSpec
from pykernels.load.module import OpModule
from pykernels.load.sample_attributes import words_of
from pykernels.load.samples import HOOK, Sample
from pykernels.tools.check.arguments import Arguments
from pykernels.tools.check.attribute_values import other_attributes

__all__ = ["MAX_NDIM", "Form", "form_of", "forms_of"]

#: The most axes that are tried.
MAX_NDIM = 5
# About how many elements the samples have that shapes are taken from.
_ELEMENTS = (1, 6, 24)
# How many shapes are made up, of which the definition accepts some.
_TRIES = 600
# How many forms are kept: of each combination of ranks and attributes, and in each dtype but the first.
_PER_RANKS, _PER_DTYPE = 4, 3
# How many of a combination of ranks are kept that have empty arrays.
_EMPTY = 3
# How many of a combination of ranks are kept with other attributes than they had.
_VARIED = 2
_PREFERRED = tuple(map(np.dtype, ("float32", "float64", "float16")))

_Shapes = tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True)
class Form:
    """What a call is like, but for the numbers in its arrays.

    Attributes
    ----------
    specs : tuple of tuple of TensorSpec
        The arrays of every input argument.
    attributes : dict
        Every attribute.
    values : tuple of ndarray or None
        For every input argument, numbers that the op's own samples have there; None if the op has no samples.
    """

    specs: tuple[tuple[TensorSpec, ...], ...]
    attributes: dict[str, Any]
    values: tuple[np.ndarray | None, ...]

    @property
    def size(self) -> int:
        """How many elements there are in all."""
        return sum(int(np.prod(spec.shape or ())) for group in self.specs for spec in group)

    @property
    def ranks(self) -> tuple[int, ...]:
        """How many axes each array has."""
        return tuple(len(spec.shape or ()) for group in self.specs for spec in group)

    @property
    def is_sample(self) -> bool:
        """Whether it has the shapes of a sample, whose numbers then are where the sample has them."""
        sizes = (sum(int(np.prod(spec.shape or ())) for spec in group) for group in self.specs)
        return all(values is None or values.size == size for values, size in zip(self.values, sizes))

    @property
    def dtype(self) -> np.dtype:
        """That of the first floating-point array, or of the first."""
        found = [spec.dtype for group in self.specs for spec in group if spec.dtype is not None]
        return next((dtype for dtype in found if dtype.kind in "fc"), found[0] if found else _PREFERRED[0])


def forms_of(module: OpModule, arguments: Arguments) -> list[Form]:
    """Calls that the definition accepts, smaller ones first: of up to `MAX_NDIM` axes, and of every dtype it allows.

    Parameters
    ----------
    arguments : Arguments
        What the samples have that the others are like.

    Raises
    ------
    CallError
        None is found: the op should say itself what it takes.
    """
    accepted = {dtype: list(_samples(module, arguments, dtype)) for dtype in _dtypes()}
    accepted = {dtype: samples for dtype, samples in accepted.items() if samples}
    if not accepted:
        arguments.sample(module, _ELEMENTS[-1], _PREFERRED[0])  # says why
    (first, samples), *others = accepted.items()
    forms = list(_with_other_shapes(module, samples))
    found = list(forms)
    for dtype, samples in others:
        bases = [form_of(module, each) for each in samples]
        alike = (_in_dtype(form, bases[-1], first, dtype) for form in _unlike(forms, dtype))
        found += list(_accepted(module.forward, bases))[:_PER_DTYPE]
        found += _accepted(module.forward, alike)
    return found


def _dtypes() -> list[np.dtype]:
    return [*_PREFERRED, *(dtype for dtype in dtypes.known() if dtype not in _PREFERRED)]


def _samples(module: OpModule, arguments: Arguments, dtype: np.dtype) -> Iterator[Sample]:
    """Accepted calls of a few sizes."""
    for elements in _ELEMENTS:
        try:
            yield from arguments.samples(module, elements, dtype)
        except PykernelsError:
            continue


def _with_other_shapes(module: OpModule, samples: Sequence[Sample]) -> Iterator[Form]:
    """The forms of samples, and others: with other shapes, with other attributes, and with both."""
    op = module.forward
    bases = [form_of(module, each) for each in samples]
    alike: dict[tuple[tuple[int, ...], str], list[Form]] = {}
    for form in _accepted(op, itertools.chain(bases, _made_up(bases))):
        alike.setdefault((form.ranks, repr(form.attributes)), []).append(form)
    kept = [form for forms in alike.values() for form in _few(forms)]
    first = bases[0]
    words = words_of(
        module, first.attributes, lambda attributes: _is_accepted(op, replace(first, attributes=attributes))
    )
    varied = [form for base in (first, bases[-1]) for form in _varied(op, base, words)]
    rng = np.random.default_rng(1)
    for forms in alike.values():
        others = [other for form in _few(forms) for other in _varied(op, form, words)]
        varied += [others[i] for i in rng.permutation(len(others))[:_VARIED]]
    yield from sorted(kept, key=lambda form: (form.size == 0, form.size))
    # What shows something wrong without them is easier to read.
    yield from _accepted(op, varied)


def _varied(op: OpDef, form: Form, words: Sequence[str]) -> Iterator[Form]:
    """A form with other attributes, those that the definition accepts."""
    return _accepted(op, (replace(form, attributes=each) for each in other_attributes(op, form.attributes, words)))


def _unlike(forms: Sequence[Form], dtype: np.dtype) -> Iterator[Form]:
    """Of many forms, some to try in another dtype: as many as compilers take little time for."""
    yield from [form for form in forms if form.size == 0][:1]
    if dtype.kind != "f":
        return
    # Numbers, the most axes, shapes that are broadcast, and attributes.
    yield from [form for form in forms if form.size and not any(form.ranks)][:1]
    full = [form for form in forms if form.size]
    yield from sorted(full, key=lambda form: -max(form.ranks, default=0))[:1]
    yield from [form for form in full if len(set(form.ranks)) > 1][:2]
    plain = [repr(form.attributes) for form in full[:1]]
    yield from [form for form in full if repr(form.attributes) not in plain][:_PER_DTYPE]


def _in_dtype(form: Form, base: Form, before: np.dtype, dtype: np.dtype) -> Form:
    """A form whose arrays of one dtype are of another; `base` is one in that dtype."""
    specs = tuple(tuple(t._replace(dtype=dtype) if t.dtype == before else t for t in group) for group in form.specs)
    return replace(form, specs=specs, values=base.values)


def _accepted(op: OpDef, forms: Iterable[Form]) -> Iterator[Form]:
    """Those that the definition accepts, each once."""
    seen = set()
    for form in forms:
        key = (form.specs, repr(form.attributes))
        if key not in seen and _is_accepted(op, form):
            yield form
        seen.add(key)


def _few(forms: list[Form]) -> list[Form]:
    """The first, which is a sample or like one, others, in which other axes are of equal lengths, and empty ones.

    One has no elements at all, and in others some arrays have none.
    """
    empty = list({_empty(form): form for form in reversed(forms) if any(_empty(form))}.values())[::-1][:_EMPTY]
    rest = [form for form in forms if not any(_empty(form))] or [form for form in forms if form.size]
    unlike = list({_equal_lengths(form): form for form in reversed(rest[1:])}.values())[::-1]
    first = [*rest[:1], *(form for form in unlike if _equal_lengths(form) != _equal_lengths(rest[0]))]
    others = [form for form in rest if form not in first]
    return [*[*first, *others][: _PER_RANKS - 1], *empty]


def _empty(form: Form) -> tuple[bool, ...]:
    """Which arrays have no elements."""
    return tuple(0 in (spec.shape or ()) for group in form.specs for spec in group)


def _equal_lengths(form: Form) -> tuple[int, ...]:
    """For each axis of all arrays, the first that is as long."""
    lengths = [n for group in form.specs for spec in group for n in spec.shape or ()]
    return tuple(map(lengths.index, lengths))


def form_of(module: OpModule, given: Sample) -> Form:
    """What a call is like."""
    has_hook = hasattr(module.api, HOOK)
    values = tuple(np.concatenate([a.ravel() for a in group]) if has_hook and group else None for group in given.inputs)
    specs = tuple(tuple(TensorSpec(a.shape, a.dtype) for a in group) for group in given.inputs)
    return Form(specs, given.attributes, values)


def _made_up(bases: Sequence[Form]) -> Iterator[Form]:
    """`bases` with other shapes, which the definition may accept."""
    rng = np.random.default_rng(0)
    for number in range(_TRIES):
        base = bases[number % len(bases)]
        shapes = [spec.shape or () for group in base.specs for spec in group]
        others = iter(_SHAPES[number % len(_SHAPES)](rng, shapes))
        specs = tuple(tuple(TensorSpec(next(others), spec.dtype) for spec in group) for group in base.specs)
        yield replace(base, specs=specs)


def _resized(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The same number of axes; axes of equal lengths, or some of them, get another one."""
    lengths = sorted({n for shape in shapes for n in shape})
    others = {n: int(rng.choice([0, 1, 2, 3, 5])) for n in lengths if rng.random() < 0.5}
    return [tuple(others.get(n, n) for n in shape) for shape in shapes]


def _one_axis(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The same, but for the length of one axis of one array."""
    places = [(i, axis) for i, shape in enumerate(shapes) for axis in range(len(shape))]
    changed = [list(shape) for shape in shapes]
    if places:
        array, axis = places[int(rng.integers(len(places)))]
        changed[array][axis] = int(rng.choice([0, 1, 2, 3, 5]))
    return list(map(tuple, changed))


def _deeper(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """More or fewer axes, before or behind the others, of the arrays that have the most."""
    most = max(map(len, shapes), default=0)
    cut, added = int(rng.integers(most + 1)), _shape(rng, MAX_NDIM - most)
    kinds = (lambda s: s[cut:], lambda s: s[: len(s) - cut], lambda s: (*added, *s), lambda s: (*s, *added))
    change = kinds[int(rng.integers(len(kinds)))]
    return [change(shape) if len(shape) == most else shape for shape in shapes]


def _alike(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """One shape, of any number of axes."""
    shape = _shape(rng, MAX_NDIM)
    return [shape for _ in shapes]


def _broadcast(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Parts of one shape, some of whose axes are 1."""
    whole = _shape(rng, MAX_NDIM)
    parts = [whole[int(rng.integers(len(whole) + 1)) :] for _ in shapes]
    return [tuple(1 if rng.random() < 0.3 else n for n in part) for part in parts]


def _any(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Shapes that have nothing to do with each other, but that there are few lengths."""
    return [tuple(map(int, rng.choice([2, 3], int(rng.integers(4))))) for _ in shapes]


_SHAPES = (_alike, _resized, _broadcast, _one_axis, _deeper, _any)


def _shape(rng: np.random.Generator, most: int) -> tuple[int, ...]:
    ndim = int(rng.integers(most + 1))
    return tuple(map(int, rng.choice([0, 1, 2, 3], ndim, p=[0.05, 0.25, 0.4, 0.3])))


def _is_accepted(op: OpDef, form: Form) -> bool:
    try:
        op.infer(form.specs, form.attributes)
    except PykernelsError:
        return False
    return True
