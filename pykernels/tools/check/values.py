"""Choose numbers for the arrays of a form: from the op's samples, ordinary, large, at the limits of a dtype, or NaN."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.load.samples import Sample, draw
from pykernels.tools.check.forms import Form

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Kind(Enum):
    """The kind of numbers in an array."""

    OWN = "the op's own"
    ORDINARY = "ordinary"
    LARGE = "large"
    EXTREME = "extreme"
    NAN = "NaN among others"


def draw_sample(form: Form, kinds: Sequence[Kind], seed: int) -> Sample:
    """Return a call of a form, with one of `kinds` chosen for every input."""
    rng = np.random.default_rng(seed)
    inputs = []
    for group, values in zip(form.specs, form.values):
        kind = _possible(kinds, values)[int(rng.integers(len(_possible(kinds, values))))]
        inputs.append([_draw(spec.shape or (), spec.dtype, kind, values, rng) for spec in group])
    return Sample(inputs, form.attributes)


def sample_strategy(forms: Sequence[Form], kinds: Sequence[Kind]) -> SearchStrategy[Sample]:
    """Return a strategy for calls of these forms, which shrinks to smaller calls with simpler numbers."""
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as arrays

    @st.composite
    def samples(draw: Any) -> Sample:
        form = draw(st.sampled_from(forms))
        inputs = []
        for group, values in zip(form.specs, form.values):
            kind = draw(st.sampled_from(_possible(kinds, values)))
            elements = [_elements(st, spec.dtype, kind, values) for spec in group]
            inputs.append([draw(arrays.arrays(s.dtype, s.shape, elements=e)) for s, e in zip(group, elements)])
        return Sample(inputs, form.attributes)

    return samples()


def _choices(dtype: np.dtype, kind: Kind, values: np.ndarray | None) -> np.ndarray | None:
    """Return the numbers of a kind to choose from, or None for ordinary numbers."""
    if kind is Kind.OWN:
        return values if values is not None and values.size else None
    if kind is Kind.LARGE and dtype.kind == "f":
        # 0, where kinks are, and numbers whose squares the dtype can hold, but not their exponentials.
        most = 1000.0 if dtype.itemsize >= 8 else 100.0
        return np.array([0.0, *(sign * size for size in (1.0, 20.0, most) for sign in (1, -1))], dtype)
    if kind is Kind.NAN and dtype.kind in "fc":
        return np.array([np.nan, 0.0, 1.0, -2.0, np.inf], dtype)
    return np.array(_extremes(dtype), dtype) if kind is Kind.EXTREME else None


def _extremes(dtype: np.dtype) -> list[Any]:
    """Return the numbers of a dtype for which kernels are most likely to be wrong."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return [0, 1, limits.max, limits.min, limits.max - 1]
    real = np.finfo(dtype)
    ends = [0.0, real.tiny, real.smallest_subnormal, real.eps, real.max, float(real.max) ** 0.5, 100, np.inf]
    return [*ends, *(-end for end in ends)]


def _possible(kinds: Sequence[Kind], values: np.ndarray | None) -> list[Kind]:
    """Return the kinds that are possible: without the op's own samples only generated ones, and at least one."""
    found = [kind for kind in kinds if kind is not Kind.OWN or values is not None]
    return found or [Kind.ORDINARY]


def _draw(
    shape: tuple[int, ...], dtype: np.dtype | None, kind: Kind, values: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    assert dtype is not None
    choices = _choices(dtype, kind, values)
    if choices is None:
        return np.asarray(draw(shape, dtype, int(rng.integers(1 << 30))))
    # Keep the order of a sample with the same size, since it may matter.
    chosen = choices if kind is Kind.OWN and choices.size == np.prod(shape) else rng.choice(choices, shape)
    return np.ascontiguousarray(chosen).reshape(shape)


def _elements(st: Any, dtype: np.dtype, kind: Kind, values: np.ndarray | None) -> Any:
    choices = _choices(dtype, kind, values)
    if choices is not None:
        return st.sampled_from(np.unique(choices).tolist()[:1000] if kind is Kind.OWN else choices.tolist())
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        return st.integers(1, 3)
    # Not near 0, where many ops have a kink, and in thousandths, so that findings are easy to read.
    sizes = st.integers(50, 2000).map(lambda size: float(np.asarray(size / 1000, dtype).real))
    return st.builds(lambda size, is_negative: -size if is_negative else size, sizes, st.booleans())
