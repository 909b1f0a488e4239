"""The same inputs give the same results, to the last bit: again, and in pieces."""

from __future__ import annotations

import itertools

import numpy as np

from pykernels.base.abi import KernelFlag
from pykernels.call.steps import Step, forward_step
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import filled, names, run_compiled, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.steps_of import steps_of
from pykernels.tools.check.values import Kind

__all__ = ["check"]

# How often, and what is in the outputs before.
_FILLS = (0xA5, 0x5A, 0x00, 0xFF)
# Into how many pieces a framework may cut a call.
_PIECES = 3
# How many calls are compared with those of a file that is loaded again.
_NEW = 8


def check(subject: Subject) -> str:
    """Run every kernel several times, in pieces where it says that it can be, and a function that was never called."""
    in_pieces: set[str] = set()
    samples = itertools.count()

    def judge(sample: Sample) -> None:
        for step in steps_of(subject, sample):
            first = run_compiled(step)
            for fill in _FILLS:
                _compare(step, first, run_compiled(step, fill), "run again on the same inputs")
            if step.call.kernel.struct.flags & (KernelFlag.ELEMENTWISE | KernelFlag.ITERATIONS):
                in_pieces.add(step.op.name)
                _compare(step, first, _run_in_pieces(step), f"run in {_PIECES} pieces")
        if next(samples) < _NEW:
            _compare_with_new(subject, sample)

    tried = search(subject, judge, subject.forms, [Kind.OWN, Kind.ORDINARY])
    return f"{tried} calls{f', in pieces as well: {chr(44).join(sorted(in_pieces))}' if in_pieces else ''}"


def _compare_with_new(subject: Subject, sample: Sample) -> None:
    """Compare with the same file, loaded again: what it keeps between calls is not there."""
    module = subject.module
    # Other numbers than those of the call before, in arrays like its.
    moved = Sample([[np.array(np.flip(array)) for array in group] for group in sample.inputs], sample.attributes)
    new = OpModule(module.name, module.path).py_api().cpp_def().py_kernel()
    with subject.limited():
        run_plain(forward_step(module, sample))
        step = forward_step(module, moved)
        found, expected = run_plain(step), run_plain(forward_step(new, moved))
    for name, one, other in zip(names(step), found, expected):
        if one.tobytes() != other.tobytes():
            raise Wrong(
                f"{step.op.name}: {name} depends on earlier calls: it is {one}, but {other} where the kernel file is "
                "loaded again"
            )


def _run_in_pieces(step: Step) -> list[np.ndarray]:
    outputs = [filled(array, 0) for group in step.outputs for array in group]
    cuts = [step.call.elements * i // _PIECES for i in range(_PIECES + 1)]
    # From the last on, as threads may.
    for begin, end in reversed(list(itertools.pairwise(cuts))):
        if begin < end:
            step.call.run(begin, end)
    return [array.copy() for array in outputs]


def _compare(step: Step, first: list[np.ndarray], again: list[np.ndarray], how: str) -> None:
    for name, one, other in zip(names(step), first, again):
        if one.tobytes() != other.tobytes():
            raise Wrong(f"{step.op.name}: {name} is another one when the kernel is {how}: {one} and then {other}")
