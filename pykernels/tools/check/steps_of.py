"""The steps that a call of an op runs in training."""

from __future__ import annotations

from collections.abc import Iterator

from pykernels.call.steps import Step, forward_step, gradient
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import run_compiled, run_plain
from pykernels.tools.check.search import Subject

__all__ = ["steps_of"]


def steps_of(subject: Subject, sample: Sample) -> Iterator[Step]:
    """The forward step, then those of the gradient, whose inputs are what comes out of it.

    Raises
    ------
    Refused
        The kernel does not take the call.
    """
    forward = forward_step(subject.module, sample)
    with subject.limited():
        run_plain(forward)
    yield forward
    if forward.op.gradient is not None:
        run_compiled(forward)
        for step in gradient(subject.module, forward).steps:
            yield step
            run_compiled(step)
