"""The shapes, dtypes and attributes that an op can be called with: those of its samples, and others like them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pykernels import dtypes
from pykernels.definition import OpDef, TensorSpec
from pykernels.errors import PykernelsError
from pykernels.module import OpModule
from pykernels.samples import HOOK, Sample, declared, sample

__all__ = ["MAX_NDIM", "Form", "form_of", "forms_of"]

#: The most axes that are tried.
MAX_NDIM = 5
# About how many elements the samples have that shapes are taken from.
_ELEMENTS = (1, 6, 24)
# How many shapes are made up, of which the definition accepts some.
_TRIES = 600
# How many forms are kept: of each combination of ranks and attributes, and in each dtype but the first.
_PER_RANKS, _PER_DTYPE = 4, 3
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
    def dtype(self) -> np.dtype:
        """That of the first floating-point array, or of the first."""
        found = [spec.dtype for group in self.specs for spec in group if spec.dtype is not None]
        return next((dtype for dtype in found if dtype.kind in "fc"), found[0] if found else _PREFERRED[0])


def forms_of(module: OpModule) -> list[Form]:
    """Calls that the definition accepts, smaller ones first: of up to `MAX_NDIM` axes, and of every dtype it allows.

    Raises
    ------
    CallError
        None is found: the op should say itself what it takes.
    """
    accepted = {dtype: list(_samples(module, dtype)) for dtype in _dtypes()}
    accepted = {dtype: samples for dtype, samples in accepted.items() if samples}
    if not accepted:
        sample(module, _ELEMENTS[-1], _PREFERRED[0])  # says why
    found: list[Form] = []
    for samples in accepted.values():
        own = list(_with_other_shapes(module, samples, is_first=not found))
        found += own if not found else own[:_PER_DTYPE]
    return found


def _dtypes() -> list[np.dtype]:
    return [*_PREFERRED, *(dtype for dtype in dtypes.known() if dtype not in _PREFERRED)]


def _samples(module: OpModule, dtype: np.dtype) -> Iterator[Sample]:
    """Accepted calls of a few sizes."""
    for elements in _ELEMENTS:
        try:
            yield from declared(module, elements, dtype) or [sample(module, elements, dtype)]
        except PykernelsError:
            continue


def _with_other_shapes(module: OpModule, samples: Sequence[Sample], *, is_first: bool) -> Iterator[Form]:
    op = module.forward
    bases = [form_of(module, each) for each in samples]
    alike: dict[tuple[tuple[int, ...], str], list[Form]] = {}
    seen = set()
    made_up = _made_up(bases) if is_first else iter(())
    for form in itertools.chain(bases, made_up):
        key = (form.specs, repr(form.attributes))
        if key in seen or not _is_accepted(op, form):
            continue
        seen.add(key)
        ranks = tuple(len(spec.shape or ()) for group in form.specs for spec in group)
        alike.setdefault((ranks, repr(form.attributes)), []).append(form)
    kept = [form for forms in alike.values() for form in _few(forms)]
    yield from sorted(kept, key=lambda form: (form.size == 0, form.size))


def _few(forms: list[Form]) -> list[Form]:
    """The first, which is a sample or like one, an empty one, and some others."""
    empty = [form for form in forms if form.size == 0][:1]
    rest = [form for form in forms if form.size]
    return [*rest[: _PER_RANKS - len(empty)], *empty]


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


_SHAPES = (_alike, _resized, _broadcast, _any)


def _shape(rng: np.random.Generator, most: int) -> tuple[int, ...]:
    ndim = int(rng.integers(most + 1))
    return tuple(map(int, rng.choice([0, 1, 2, 3], ndim, p=[0.05, 0.25, 0.4, 0.3])))


def _is_accepted(op: OpDef, form: Form) -> bool:
    try:
        op.infer(form.specs, form.attributes)
    except PykernelsError:
        return False
    return True
