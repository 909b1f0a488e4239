"""Kernels can be called by several threads at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import names, run_compiled
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.steps_of import steps_of
from pykernels.tools.check.values import Kind

__all__ = ["check"]

_CALLERS, _CALLS = 8, 20
# The seconds in which all callers must be done.
_LIMIT = 60
# How many forms are tried: none is likely to be safer than another.
_FORMS = 4


def check(subject: Subject) -> str:
    """Run every kernel by 8 threads at once, on arrays of their own, and compare with what it gives to one."""

    def judge(sample: Sample) -> None:
        callers = [list(steps_of(subject, _moved(sample, number))) for number in range(_CALLERS)]
        for same in zip(*callers):
            _call_at_once(same)

    forms = sorted((form for form in subject.forms if form.size), key=lambda form: -form.size)[:_FORMS]
    # Python switches between threads rarely; the more often, the more is found.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        return f"{search(subject, judge, forms, [Kind.OWN], examples=0)} calls by {_CALLERS} threads"
    finally:
        sys.setswitchinterval(before)


def _moved(sample: Sample, by: int) -> Sample:
    """The numbers of a call in other places: each caller has inputs of its own, all of which the op takes."""
    inputs = [[np.roll(array, by, axis=0) if array.ndim else array.copy() for array in g] for g in sample.inputs]
    return Sample(inputs, sample.attributes)


def _call_at_once(steps: Sequence[Step]) -> None:
    alone = [run_compiled(step) for step in steps]
    start = threading.Barrier(len(steps))
    wrong: list[str] = []

    def call(step: Step, expected: list[np.ndarray]) -> None:
        start.wait()
        for _ in range(_CALLS):
            try:
                results = run_compiled(step)
            except KernelError as error:
                wrong.append(f"fails: {error}")
                return
            for name, found, wanted in zip(names(step), results, expected):
                if found.tobytes() != wanted.tobytes():
                    wrong.append(f"gives other numbers for {name} than to one caller")
                    return

    callers = [threading.Thread(target=call, args=each, daemon=True) for each in zip(steps, alone)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(_LIMIT)
    if any(caller.is_alive() for caller in callers):
        wrong.append(f"is not done after {_LIMIT} s")
    if wrong:
        raise Wrong(f"{steps[0].op.name}: the kernel, called by {_CALLERS} threads at once, {wrong[0]}")
