"""Check that kernels return the shapes and dtypes that the definition infers, and write every element."""

from __future__ import annotations

from itertools import chain

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.call.steps import Step, forward_step, gradient
from pykernels.define.instance import described, specs_of
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, names, run_compiled, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import LIMIT, Subject, TooLong, search
from pykernels.tools.check.values import Kind

# The bytes that fill the outputs before two runs: an element that keeps both has not been written.
_FILLS = (0xA5, 0x5A)
# No kernel should take long for so few numbers.
_FEW = 1000


def check(subject: Subject) -> str:
    """Compare the inferred shapes and dtypes with those that the op's and its gradient's kernels accept and return."""
    refusals: list[str] = []

    def judge(sample: Sample) -> None:
        forward = forward_step(subject.module, sample)
        try:
            _check_outputs(subject, forward)
        except Refused as error:
            # A kernel may refuse numbers, but the definition decides which shapes are valid.
            if not (error.is_deliberate or _is_index(error, subject, sample)) or not _numbers(forward):
                raise Wrong(_disagreement(forward, error)) from error
            refusals.append(str(error))
            raise
        if forward.op.gradient is None:
            return
        found = gradient(subject.module, forward)
        for step in found.steps:
            try:
                _check_outputs(subject, step)
            except Refused as error:
                raise Wrong(_disagreement(step, error)) from error
        inputs = {(a.name, i): x for a, group in zip(forward.op.inputs, sample.inputs) for i, x in enumerate(group)}
        for place, value in found.bound.items():
            like, name = inputs[place], place[0]
            if (value.shape, value.dtype) != (like.shape, like.dtype):
                raise Wrong(
                    f"the gradient of {name} is {value.dtype}{list(value.shape)}, but {name} is "
                    f"{like.dtype}{list(like.shape)}"
                )

    tried = search(subject, judge, subject.forms, [Kind.OWN])
    return f"{tried} calls{f'; the kernel refused {len(refusals)}: {refusals[0]}' if refusals else ''}"


def _numbers(step: Step) -> int:
    return sum(array.size for group in step.inputs for array in group)


def _is_index(error: Refused, subject: Subject, sample: Sample) -> bool:
    """Return whether the kernel refuses numbers that it uses as indices: it takes the same call with zeros."""
    indices = [array for array in chain(*sample.inputs) if array.dtype.kind in "iu"]
    if not indices or not isinstance(error.__cause__, IndexError):
        return False
    zeros = [[a if a.dtype.kind not in "iu" else np.zeros_like(a) for a in group] for group in sample.inputs]
    try:
        _run_plain(subject, forward_step(subject.module, Sample(zeros, sample.attributes)))
    except (Refused, KernelError):
        return False
    return True


def _disagreement(step: Step, error: Refused) -> str:
    inputs = described(step.op.inputs, specs_of(step.inputs))
    outputs = described(step.op.outputs, specs_of(step.outputs))
    return f"{step.op.name}: the definition accepts {inputs} and infers {outputs}, but the kernel does not: {error}"


def _run_plain(subject: Subject, step: Step) -> None:
    try:
        with subject.limited():
            run_plain(step)
        return
    except TooLong:
        if _numbers(step) > _FEW:
            raise
    # The first run may be slow because the kernel imports modules.
    try:
        with subject.limited():
            run_plain(step)
    except TooLong:
        raise Wrong(f"{step.op.name}: the function takes more than {LIMIT:g} s for a few numbers") from None


def _check_outputs(subject: Subject, step: Step) -> None:
    _run_plain(subject, step)  # compares shapes and dtypes
    results = [run_compiled(step, fill) for fill in _FILLS]
    before = [np.frombuffer(bytes([fill]) * 16, np.uint8) for fill in _FILLS]
    for name, first, second in zip(names(step), *results):
        size = first.dtype.itemsize
        kept = [_bytes(x) == fill[:size] for x, fill in zip((first, second), before)]
        untouched = (kept[0] & kept[1]).all(axis=1)
        if untouched.any():
            at = np.unravel_index(int(np.argmax(untouched)), first.shape)
            place = f"[{', '.join(map(str, at))}]" if at else ""
            raise Wrong(
                f"{step.op.name}: the kernel does not write {name}{place} "
                f"({untouched.sum()} of {first.size} elements), which the definition infers"
            )


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.dtype.itemsize)
