"""Check that several threads can call kernels at once."""

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
from pykernels.tools.check.values import Kind

_CALLERS, _CALLS = 8, 20
# The time that all callers together may take, in seconds.
_LIMIT = 60
# How many forms to try: none is likely to be safer than another.
_FORMS = 4


def check(subject: Subject) -> str:
    """Run every kernel in 8 threads at once, each with its own arrays, and compare with the results of one thread."""

    def judge(sample: Sample) -> None:
        callers = [list(subject.steps(_moved(sample, number))) for number in range(_CALLERS)]
        for same in zip(*callers):
            _call_at_once(same)

    forms = sorted((form for form in subject.forms if form.size), key=lambda form: -form.size)[:_FORMS]
    # Python switches between threads rarely; more switches find more errors.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        return f"{search(subject, judge, forms, [Kind.OWN], examples=0)} calls by {_CALLERS} threads"
    finally:
        sys.setswitchinterval(before)


def _moved(sample: Sample, by: int) -> Sample:
    """Return a call with its numbers moved, so that each caller has different inputs, which the op still takes."""
    inputs = [[np.roll(array, by, axis=0) if array.ndim else array.copy() for array in g] for g in sample.inputs]
    return Sample(inputs, sample.attributes)


def _call_at_once(steps: Sequence[Step]) -> None:
    alone = [run_compiled(step) for step in steps]
    start = threading.Barrier(len(steps))
    problems: list[str] = []

    def call(step: Step, expected: list[np.ndarray]) -> None:
        start.wait()
        for _ in range(_CALLS):
            try:
                results = run_compiled(step)
            except KernelError as error:
                problems.append(f"fails: {error}")
                return
            for name, found, wanted in zip(names(step), results, expected):
                if found.tobytes() != wanted.tobytes():
                    problems.append(f"computes other numbers for {name} than for one caller")
                    return

    callers = [threading.Thread(target=call, args=each, daemon=True) for each in zip(steps, alone)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(_LIMIT)
    if any(caller.is_alive() for caller in callers):
        problems.append(f"does not finish within {_LIMIT} s")
    if problems:
        raise Wrong(f"{steps[0].op.name}: the kernel, called by {_CALLERS} threads at once, {problems[0]}")
