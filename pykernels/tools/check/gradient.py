"""Gradients are the derivatives: compared with finite differences in float64, then in every dtype with float64."""

from __future__ import annotations

from itertools import chain

from pykernels.call.steps import forward_step
from pykernels.load.samples import Sample
from pykernels.tools.check import slopes
from pykernels.tools.check.execution import run_plain
from pykernels.tools.check.findings import Skipped
from pykernels.tools.check.search import Subject, search, search_long
from pykernels.tools.check.values import Kind

__all__ = ["check"]


def check(subject: Subject) -> str:
    """Compare the gradient of the op with its slope along each input."""
    op = subject.module.forward
    if op.gradient is None:
        raise Skipped(f"{op.name} has no gradient")
    compared: set[str] = set()
    end = slopes.EndOfNetwork()

    def judge(sample: Sample) -> None:
        if subject.is_zeroed(sample.attributes) and not all(array.all() for array in chain(*sample.inputs)):
            return  # where the slope may be infinite, times 0
        forward = forward_step(subject.module, slopes.in_float64(sample))
        with subject.limited():
            run_plain(forward)  # which tells whether the kernel refuses the call
        compared.update(slopes.compare(subject.module, forward) or end.compare(subject.module, forward))
        slopes.compare_dtypes(subject.module, sample)

    tried = search(subject, judge, slopes.differentiable(subject), [Kind.OWN, Kind.ORDINARY, Kind.LARGE])
    tried += search_long(subject, judge, [Kind.OWN])
    if not compared:
        return f"{tried} calls; the gradient, which reads no gradient of an output, is not that of the sum of one"
    return f"{tried} calls, along {', '.join(sorted(compared))}"
