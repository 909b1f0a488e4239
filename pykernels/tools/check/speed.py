"""Check that kernels are not slower than the same functions in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks.timing import SLOW, Timer, time_kernel, time_python
from pykernels.kernel.facts import PYTHON
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, run_plain
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.search import Subject, TooLong

_SIZES = (1000, 100_000)
# With fewer elements a kernel that runs as Python is always slower, since C calls it.
_LARGE = 100_000
# How many times as long as NumPy a kernel may take; the margin allows for a busy machine.
_SLOWER = 1.5
# The minimum of so many rounds counts, and it must be too long in so many repetitions.
_ROUNDS, _REPEATS = 5, 3
# The shortest duration of a round, in seconds.
_AT_LEAST = 0.002


def check(subject: Subject) -> str:
    """Time every kernel, called through the ABI, and its function in plain NumPy."""
    dtype = subject.forms[0].dtype if subject.given is None else np.dtype(np.float32)
    found, interpreted = [], set()
    for size in _SIZES if subject.given is None else (0,):
        for call in subject.given or [subject.arguments.sample(subject.module, size, dtype)]:
            for step in _steps(subject, call):
                found.append(_ratio(subject, step, call))
                if step.call.kernel.facts.form == PYTHON:
                    interpreted.add(step.op.name)
    ratios = [each for each in found if each is not None]
    if not ratios:
        raise Skipped("NumPy takes too long")
    as_python = f"; not compiled: {', '.join(sorted(interpreted))}" if interpreted else ""
    return f"{min(ratios):.2g} to {max(ratios):.2g} times as long as NumPy{as_python}"


def _steps(subject: Subject, call: Sample) -> Iterator[Step]:
    forward = forward_step(subject.module, call)
    forward.call.run()
    yield forward
    for step in gradient_steps(subject.module, forward):
        yield step
        step.call.run()


def _ratio(subject: Subject, step: Step, call: Sample) -> float | None:
    """Return the ratio of the kernel's time to that of plain NumPy, or None if NumPy refuses or takes too long."""
    try:
        with subject.limited():
            run_plain(step)
    except (TooLong, Refused):
        return None
    kernel, plain = time_kernel(step.call), time_python(step.call.plain())
    once = plain(1)
    if once > SLOW / 10:
        return _least(kernel) / once
    ratio = _least(kernel) / _least(plain)
    if step.call.kernel.facts.form == PYTHON and step.elements < _LARGE:
        return ratio
    for _ in range(_REPEATS - 1):
        if ratio <= _SLOWER:
            return ratio
        ratio = min(ratio, _least(kernel) / _least(plain))
    if ratio > _SLOWER:
        raise Wrong(
            f"{step.op.name}: with {step.elements:,} elements, the kernel takes {ratio:.2g} times as long as "
            "plain NumPy (see python -m pykernels explain, and bench)",
            call,
        )
    return ratio


def _least(timer: Timer) -> float:
    calls = 1
    while timer(calls) < _AT_LEAST:
        calls *= 4
    return min(timer(calls) for _ in range(_ROUNDS)) / calls
