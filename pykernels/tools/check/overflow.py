"""Check that intermediate results do not overflow if the dtype can represent the final result."""

from __future__ import annotations

from itertools import chain

import numpy as np

from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import names, run_exact, run_plain
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind

# Results of larger numbers may legitimately overflow.
_MOST = 1000.0
# float16 is too small for many squares.
_DTYPES = tuple(map(np.dtype, (np.float32, np.float64)))


def check(subject: Subject) -> str:
    """Run the functions in plain NumPy on moderate numbers, and again in a wider dtype."""
    forms = [
        form for form in subject.forms if form.dtype in _DTYPES and form.size and not subject.is_zeroed(form.attributes)
    ]
    if not forms:
        raise Skipped("the op takes neither float32 nor float64")

    def judge(sample: Sample) -> None:
        for step in subject.steps(sample):
            if all(_is_moderate(array) for array in chain(*step.inputs)):
                _compare(step)

    tried = search(subject, judge, forms, [Kind.OWN, Kind.LARGE])
    return f"{tried} calls, {', '.join(dict.fromkeys(str(form.dtype) for form in forms))}"


def _is_moderate(array: np.ndarray) -> bool:
    # NaN is not moderate.
    return array.dtype.kind != "f" or bool((np.abs(array) <= _MOST).all())


def _compare(step: Step) -> None:
    exact = run_exact(step)
    for name, found, truth in zip(names(step), run_plain(step), exact or ()):
        if found.dtype not in _DTYPES or truth.shape != found.shape or truth.dtype == found.dtype:
            continue
        # A comparison with NaN is false.
        is_lost = ~np.isfinite(found) & (np.abs(truth) <= np.finfo(found.dtype).max)
        if is_lost.any():
            at = np.unravel_index(int(np.argmax(is_lost)), is_lost.shape)
            place = f"[{', '.join(map(str, at))}]" if at else ""
            raise Wrong(
                f"{step.op.name}: {name}{place} is {found[at]}, but {truth[at]:.9g} if the function computes in "
                f"{truth.dtype}: an intermediate result is too large or too small for {found.dtype}"
            )
