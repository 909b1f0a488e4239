"""Numbers for the arrays of a form: those of the op's own samples, ordinary ones, and ones at the ends of a dtype."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.load.samples import Sample, draw
from pykernels.tools.check.forms import Form

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Kind", "draw_sample", "sample_strategy"]


class Kind(Enum):
    """Which numbers an array gets."""

    OWN = "the op's own"
    ORDINARY = "ordinary"
    LARGE = "large"
    EXTREME = "extreme"


def draw_sample(form: Form, kinds: Sequence[Kind], seed: int) -> Sample:
    """A call of a form; for every input one of `kinds` is chosen."""
    rng = np.random.default_rng(seed)
    inputs = []
    for group, values in zip(form.specs, form.values):
        kind = _possible(kinds, values)[int(rng.integers(len(_possible(kinds, values))))]
        inputs.append([_draw(spec.shape or (), spec.dtype, kind, values, rng) for spec in group])
    return Sample(inputs, form.attributes)


def sample_strategy(forms: Sequence[Form], kinds: Sequence[Kind]) -> SearchStrategy[Sample]:
    """Calls of these forms; those that hypothesis takes for simpler are smaller, with plainer numbers."""
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


def _extremes(dtype: np.dtype) -> list[Any]:
    """The numbers of a dtype that kernels get wrong most easily."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return [0, 1, limits.max, limits.min, limits.max - 1]
    real = np.finfo(dtype)
    ends = [0.0, real.tiny, real.smallest_subnormal, real.eps, real.max, float(real.max) ** 0.5, 100, np.inf]
    return [*ends, *(-end for end in ends), np.nan]


def _large(dtype: np.dtype) -> list[float]:
    """Numbers as they come up, of which exponentials do not fit into the dtype, but squares do; and where kinks are."""
    most = 1000.0 if dtype.itemsize >= 8 else 100.0
    return [0.0, *(sign * size for size in (1.0, 20.0, most) for sign in (1, -1))]


def _possible(kinds: Sequence[Kind], values: np.ndarray | None) -> list[Kind]:
    """Without samples of the op's own, only what is made up; and there is always something."""
    found = [kind for kind in kinds if kind is not Kind.OWN or values is not None]
    return found or [Kind.ORDINARY]


def _draw(
    shape: tuple[int, ...], dtype: np.dtype | None, kind: Kind, values: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    assert dtype is not None
    if kind is Kind.OWN and values is not None and values.size:
        # As many as there are in their own order, which may mean something.
        own = values if values.size == np.prod(shape) else rng.choice(values, shape)
        return np.ascontiguousarray(own).reshape(shape)
    if kind is Kind.EXTREME:
        return rng.choice(np.array(_extremes(dtype), dtype), shape).reshape(shape)
    if kind is Kind.LARGE and dtype.kind == "f":
        return rng.choice(np.array(_large(dtype), dtype), shape).reshape(shape)
    return np.asarray(draw(shape, dtype, int(rng.integers(1 << 30))))


def _elements(st: Any, dtype: np.dtype, kind: Kind, values: np.ndarray | None) -> Any:
    if kind is Kind.OWN and values is not None and values.size:
        return st.sampled_from(np.unique(values).tolist()[:1000])
    if kind is Kind.EXTREME:
        return st.sampled_from([value.item() for value in np.array(_extremes(dtype), dtype)])
    if kind is Kind.LARGE and dtype.kind == "f":
        return st.sampled_from(_large(dtype))
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        return st.integers(1, 3)
    # Not near 0, where many ops have a kink; thousandths, so that what is found is easy to read.
    sizes = st.integers(50, 2000).map(lambda size: float(np.asarray(size / 1000, dtype).real))
    return st.builds(lambda size, is_negative: -size if is_negative else size, sizes, st.booleans())
