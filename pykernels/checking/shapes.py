"""Kernels give the shapes and dtypes that the definition infers, and write all of it."""

from __future__ import annotations

import numpy as np

from pykernels.checking.execution import names, run_compiled, run_plain
from pykernels.checking.findings import Wrong
from pykernels.checking.search import Subject, search
from pykernels.checking.values import Kind
from pykernels.samples import Sample
from pykernels.steps import Step, forward_step, gradient

__all__ = ["check"]

# What is in the outputs before: what is still there afterwards twice has not been written.
_FILLS = (0xA5, 0x5A)


def check(subject: Subject) -> str:
    """Compare what is inferred with what kernels give, of the op and of its gradient."""

    def judge(sample: Sample) -> None:
        forward = forward_step(subject.module, sample)
        _check_outputs(subject, forward)
        if forward.op.gradient is None:
            return
        found = gradient(subject.module, forward)
        for step in found.steps:
            _check_outputs(subject, step)
        inputs = {(a.name, i): x for a, group in zip(forward.op.inputs, sample.inputs) for i, x in enumerate(group)}
        for place, value in found.bound.items():
            like, name = inputs[place], place[0]
            if (value.shape, value.dtype) != (like.shape, like.dtype):
                raise Wrong(
                    f"the gradient of {name} is {value.dtype}{list(value.shape)}, but {name} is "
                    f"{like.dtype}{list(like.shape)}"
                )

    return f"{search(subject, judge, subject.forms, [Kind.OWN])} calls"


def _check_outputs(subject: Subject, step: Step) -> None:
    with subject.limited():
        run_plain(step)  # which compares shapes and dtypes
    results = [run_compiled(step, fill) for fill in _FILLS]
    before = [np.frombuffer(bytes([fill]) * 16, np.uint8) for fill in _FILLS]
    for name, first, second in zip(names(step), *results):
        size = first.dtype.itemsize
        kept = [_bytes(x) == fill[:size] for x, fill in zip((first, second), before)]
        untouched = (kept[0] & kept[1]).all(axis=1)
        if untouched.any():
            at = np.unravel_index(int(np.argmax(untouched)), first.shape)
            raise Wrong(
                f"{step.op.name}: the kernel does not write {name}[{', '.join(map(str, at))}] "
                f"({untouched.sum()} of {first.size} elements), which the definition infers"
            )


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.dtype.itemsize)
