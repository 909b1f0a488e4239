"""Find shapes, dtypes and attributes that an op accepts: those of its samples, and variations of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.attributes import parse_value
from pykernels.base.errors import PykernelsError
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.load.module import OpModule
from pykernels.load.sample_attributes import likely_words
from pykernels.load.samples import HOOK, Sample, declared, sample

#: The most axes to try.
MAX_NDIM = 5
# The approximate numbers of elements of the samples that provide shapes.
_ELEMENTS = (1, 6, 24)
# How many shapes to generate, of which the definition accepts some.
_TRIES = 600
# How many forms to keep of each combination of ranks and attributes, and in each dtype but the first.
_PER_RANKS, _PER_DTYPE = 4, 3
# How many forms with empty arrays to keep of each combination of ranks.
_EMPTY = 4
# How many forms with changed attributes to keep of each combination of ranks.
_VARIED = 2
_PREFERRED = tuple(map(np.dtype, ("float32", "float64", "float16")))

_LISTS = (AttrType.SHAPE, AttrType.LIST_INT32, AttrType.LIST_INT64, AttrType.LIST_FLOAT)


@dataclass(frozen=True)
class Arguments:
    """Shapes of inputs and values of attributes for generated calls; see `samples.sample`."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def sample(self, module: OpModule, elements: int, dtype: np.dtype) -> Sample:
        """Return a call with about `elements` elements; errors are those of `samples.sample`."""
        return sample(module, elements, dtype, shapes=self.shapes, attributes=self.attributes)

    def samples(self, module: OpModule, elements: int, dtype: np.dtype) -> list[Sample]:
        """Return all calls that the op itself declares, or the one of `sample` if there are none."""
        found = [] if self.shapes else declared(module, elements, dtype, self.attributes)
        return found or [self.sample(module, elements, dtype)]


@dataclass(frozen=True)
class Form:
    """A call without the numbers in its arrays."""

    #: The arrays of each input argument.
    specs: tuple[tuple[TensorSpec, ...], ...]
    #: The values of all attributes.
    attributes: dict[str, Any]
    #: For each input argument, the numbers in the op's own samples; None if the op has no samples.
    values: tuple[np.ndarray | None, ...]
    #: Which of the inferred outputs have no elements.
    empty_outputs: tuple[bool, ...] = ()

    @property
    def size(self) -> int:
        """The total number of elements."""
        return sum(int(np.prod(spec.shape or ())) for group in self.specs for spec in group)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The number of axes of each array."""
        return tuple(len(spec.shape or ()) for group in self.specs for spec in group)

    @property
    def is_sample(self) -> bool:
        """Whether the form has the shapes of a sample, and so can have its numbers in the same places."""
        sizes = (sum(int(np.prod(spec.shape or ())) for spec in group) for group in self.specs)
        return all(values is None or values.size == size for values, size in zip(self.values, sizes))

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the first floating-point array, or else of the first array."""
        found = [spec.dtype for group in self.specs for spec in group if spec.dtype is not None]
        return next((dtype for dtype in found if dtype.kind in "fc"), found[0] if found else _PREFERRED[0])


def forms_of(module: OpModule, arguments: Arguments) -> list[Form]:
    """Return forms that the definition accepts, smaller ones first, with up to `MAX_NDIM` axes and in every dtype.

    They are the forms of the samples with these arguments, and variations. This raises `CallError` if the definition
    accepts none; the message asks for a function ``sample_inputs``.
    """
    # Kernels compute bfloat16 as they compute float32.
    known = [dtype for dtype in dtypes.known() if not dtypes.is_bfloat16(dtype)]
    accepted = {dtype: list(_samples(module, arguments, dtype)) for dtype in dict.fromkeys([*_PREFERRED, *known])}
    accepted = {dtype: samples for dtype, samples in accepted.items() if samples}
    if not accepted:
        arguments.sample(module, _ELEMENTS[-1], _PREFERRED[0])  # says why
    (first, samples), *others = accepted.items()
    forms = list(_with_other_shapes(module, samples))
    found = list(forms)
    for dtype, samples in others:
        bases = [form_of(module, each) for each in samples]
        alike = (_in_dtype(form, bases[-1], first, dtype) for form in _diverse(forms, dtype))
        found += list(_accepted(module.forward, bases))[:_PER_DTYPE]
        found += _accepted(module.forward, alike)
    return found


def _samples(module: OpModule, arguments: Arguments, dtype: np.dtype) -> Iterator[Sample]:
    """Yield accepted calls of a few sizes."""
    for elements in _ELEMENTS:
        try:
            yield from arguments.samples(module, elements, dtype)
        except PykernelsError:
            continue


def _with_other_shapes(module: OpModule, samples: Sequence[Sample]) -> Iterator[Form]:
    """Yield the forms of samples, and variations with other shapes, other attributes, and both."""
    op = module.forward
    bases = [form_of(module, each) for each in samples]
    alike: dict[tuple[tuple[int, ...], str], list[Form]] = {}
    for form in _accepted(op, itertools.chain(bases, _generated(bases))):
        alike.setdefault((form.ranks, repr(form.attributes)), []).append(form)
    kept = [form for forms in alike.values() for form in _representative(forms)]
    first = bases[0]
    words = likely_words(
        module, first.attributes, lambda attributes: _is_accepted(op, replace(first, attributes=attributes))
    )
    varied = [form for base in (first, bases[-1]) for form in _varied(op, base, words)]
    rng = np.random.default_rng(1)
    for forms in alike.values():
        others = [other for form in _representative(forms) for other in _varied(op, form, words)]
        varied += [others[i] for i in rng.permutation(len(others))[:_VARIED]]
    yield from sorted(kept, key=lambda form: (form.size == 0, form.size))
    # Changed attributes come last: an error that shows without them is easier to read.
    yield from _accepted(op, varied)


def _varied(op: OpDef, form: Form, words: Sequence[str]) -> Iterator[Form]:
    """Yield a form with another value for one attribute each time, as far as the definition accepts them.

    Strings become one of `words`.
    """
    for attribute in op.attributes:
        value = form.attributes[attribute.name]
        seen = [value]
        for other in words if attribute.type is AttrType.STRING else _others(attribute.type, value):
            try:
                parsed = parse_value(attribute.type, other)
            except ValueError:  # too large, or negative
                continue
            if parsed not in seen:
                seen.append(parsed)
                varied = replace(form, attributes={**form.attributes, attribute.name: parsed})
                if _is_accepted(op, varied):
                    yield varied


def _others(type_: AttrType, value: Any) -> list[Any]:
    """Return values around the given one, and around 0 and 1, which many kernels treat specially."""
    if type_ is AttrType.BOOL:
        return [not value]
    if type_ in (AttrType.INT32, AttrType.INT64):
        return [0, 1, 2, -1, -2, value + 1, value - 1]
    if type_ in (AttrType.FLOAT, AttrType.DOUBLE):
        return [0.5, -0.5, 0.0, 1.0, 2.0, -value, 3 * value]
    if type_ is AttrType.DTYPE:
        return [dtypes.number_of(dtype) for dtype in (np.float32, np.float64, np.int32)]
    if type_ in _LISTS:
        return [[n + 1 for n in value], [-n for n in value], list(value[::-1]), list(value[1:])]
    return []


def _diverse(forms: Sequence[Form], dtype: np.dtype) -> Iterator[Form]:
    """Yield a few of many forms to try in another dtype, so that compilation takes little time."""
    yield from [form for form in forms if form.size == 0][:1]
    if dtype.kind != "f":
        return
    # Scalars, the most axes, broadcast shapes, and other attributes.
    yield from [form for form in forms if form.size and not any(form.ranks)][:1]
    full = [form for form in forms if form.size]
    yield from sorted(full, key=lambda form: -max(form.ranks, default=0))[:1]
    yield from [form for form in full if len(set(form.ranks)) > 1][:2]
    plain = [repr(form.attributes) for form in full[:1]]
    yield from [form for form in full if repr(form.attributes) not in plain][:_PER_DTYPE]


def _in_dtype(form: Form, base: Form, before: np.dtype, dtype: np.dtype) -> Form:
    """Return a form with one dtype replaced by another; `base` is a form in that dtype."""
    specs = tuple(tuple(t._replace(dtype=dtype) if t.dtype == before else t for t in group) for group in form.specs)
    return replace(form, specs=specs, values=base.values)


def _accepted(op: OpDef, forms: Iterable[Form]) -> Iterator[Form]:
    """Yield the forms that the definition accepts, each once."""
    seen = set()
    for form in forms:
        key = (form.specs, repr(form.attributes))
        if key not in seen and (outputs := _inferred(op, form)) is not None:
            yield replace(form, empty_outputs=_empty(outputs))
        seen.add(key)


def _representative(forms: list[Form]) -> list[Form]:
    """Return the first form, which is like a sample, others in which different axes have equal lengths, and empty ones.

    One of the empty forms has no elements at all; in others some arrays have none.
    """
    empty = list({_emptiness(form): form for form in reversed(forms) if any(_emptiness(form))}.values())[::-1][:_EMPTY]
    rest = [form for form in forms if not any(_emptiness(form))] or [form for form in forms if form.size]
    unlike = list({_equal_lengths(form): form for form in reversed(rest[1:])}.values())[::-1]
    first = [*rest[:1], *(form for form in unlike if _equal_lengths(form) != _equal_lengths(rest[0]))]
    others = [form for form in rest if form not in first]
    return [*[*first, *others][: _PER_RANKS - 1], *empty]


def _emptiness(form: Form) -> tuple[bool, ...]:
    """Return which inputs and outputs have no elements."""
    return (*_empty(form.specs), *form.empty_outputs)


def _empty(specs: Sequence[Sequence[TensorSpec]]) -> tuple[bool, ...]:
    """Return which arrays have no elements."""
    return tuple(0 in (spec.shape or ()) for group in specs for spec in group)


def _equal_lengths(form: Form) -> tuple[int, ...]:
    """Return, for each axis of all arrays, the first axis with the same length."""
    lengths = [n for group in form.specs for spec in group for n in spec.shape or ()]
    return tuple(map(lengths.index, lengths))


def form_of(module: OpModule, given: Sample) -> Form:
    """Return the form of a call."""
    has_hook = hasattr(module.api, HOOK)
    values = tuple(np.concatenate([a.ravel() for a in group]) if has_hook and group else None for group in given.inputs)
    specs = tuple(tuple(TensorSpec(a.shape, a.dtype) for a in group) for group in given.inputs)
    return Form(specs, given.attributes, values)


def _generated(bases: Sequence[Form]) -> Iterator[Form]:
    """Yield `bases` with other shapes, which the definition may or may not accept."""
    rng = np.random.default_rng(0)
    for number in range(_TRIES):
        base = bases[number % len(bases)]
        shapes = [spec.shape or () for group in base.specs for spec in group]
        others = iter(_SHAPES[number % len(_SHAPES)](rng, shapes))
        specs = tuple(tuple(TensorSpec(next(others), spec.dtype) for spec in group) for group in base.specs)
        yield replace(base, specs=specs)


def _resized(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return shapes with the same number of axes; some lengths change, wherever they occur."""
    lengths = sorted({n for shape in shapes for n in shape})
    others = {n: int(rng.choice([0, 1, 2, 3, 5])) for n in lengths if rng.random() < 0.5}
    return [tuple(others.get(n, n) for n in shape) for shape in shapes]


def _one_axis(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the same shapes, except for the length of one axis of one array."""
    places = [(i, axis) for i, shape in enumerate(shapes) for axis in range(len(shape))]
    changed = [list(shape) for shape in shapes]
    if places:
        array, axis = places[int(rng.integers(len(places)))]
        changed[array][axis] = int(rng.choice([0, 1, 2, 3, 5]))
    return list(map(tuple, changed))


def _deeper(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return shapes with axes added or removed at either end, for the arrays with the most axes."""
    most = max(map(len, shapes), default=0)
    cut, added = int(rng.integers(most + 1)), _shape(rng, MAX_NDIM - most)
    kinds = (lambda s: s[cut:], lambda s: s[: len(s) - cut], lambda s: (*added, *s), lambda s: (*s, *added))
    change = kinds[int(rng.integers(len(kinds)))]
    return [change(shape) if len(shape) == most else shape for shape in shapes]


def _alike(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return one shape with any number of axes for all arrays."""
    shape = _shape(rng, MAX_NDIM)
    return [shape for _ in shapes]


def _broadcast(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return parts of one shape, some of whose axes have length 1."""
    whole = _shape(rng, MAX_NDIM)
    parts = [whole[int(rng.integers(len(whole) + 1)) :] for _ in shapes]
    return [tuple(1 if rng.random() < 0.3 else n for n in part) for part in parts]


def _any(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return unrelated shapes with few different lengths."""
    return [tuple(map(int, rng.choice([2, 3], int(rng.integers(4))))) for _ in shapes]


_SHAPES = (_alike, _resized, _broadcast, _one_axis, _deeper, _any)


def _shape(rng: np.random.Generator, most: int) -> tuple[int, ...]:
    ndim = int(rng.integers(most + 1))
    return tuple(map(int, rng.choice([0, 1, 2, 3], ndim, p=[0.05, 0.25, 0.4, 0.3])))


def _is_accepted(op: OpDef, form: Form) -> bool:
    return _inferred(op, form) is not None


def _inferred(op: OpDef, form: Form) -> list[list[TensorSpec]] | None:
    """Return the outputs that the definition infers; None if it refuses the form."""
    try:
        return op.infer(form.specs, form.attributes)
    except PykernelsError:
        return None
