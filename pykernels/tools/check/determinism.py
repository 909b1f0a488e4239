"""Check that the same inputs give bitwise the same results, in repeated calls and in pieces."""

from __future__ import annotations

import itertools

import numpy as np

from pykernels.base.abi import KernelFlag
from pykernels.call.steps import Step, forward_step
from pykernels.load.module import open_folder
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import filled, names, run_compiled, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind

# The bytes that fill the outputs before each run.
_FILLS = (0xA5, 0x5A, 0x00, 0xFF)
# How many pieces a call is divided into, as frameworks may do.
_PIECES = 3
# How many calls are compared with those of a freshly loaded file.
_NEW = 8


def check(subject: Subject) -> str:
    """Run every kernel several times, in pieces if it allows that, and once from a freshly loaded file."""
    in_pieces: set[str] = set()
    samples = itertools.count()

    def judge(sample: Sample) -> None:
        for step in subject.steps(sample):
            first = run_compiled(step)
            for fill in _FILLS:
                _compare(step, first, run_compiled(step, fill), "run again on the same inputs")
            allows_pieces = step.call.kernel.struct.flags & (KernelFlag.ELEMENTWISE | KernelFlag.ITERATIONS)
            # Frameworks run a call as a whole if its first output is empty.
            if allows_pieces and step.call.elements:
                in_pieces.add(step.op.name)
                _compare(step, first, _run_in_pieces(step), f"run in {_PIECES} pieces")
        if next(samples) < _NEW:
            _compare_with_new(subject, sample)

    tried = search(subject, judge, subject.forms, [Kind.OWN, Kind.ORDINARY])
    return f"{tried} calls{f', in pieces as well: {chr(44).join(sorted(in_pieces))}' if in_pieces else ''}"


def _compare_with_new(subject: Subject, sample: Sample) -> None:
    """Compare with the same file, freshly loaded, which has kept nothing from earlier calls."""
    module = subject.module
    # Other numbers than in the previous call, in arrays of the same shapes.
    moved = Sample([[np.array(np.flip(array)) for array in group] for group in sample.inputs], sample.attributes)
    new = open_folder(module.path)
    with subject.limited():
        run_plain(forward_step(module, sample))
        step = forward_step(module, moved)
        found, expected = run_plain(step), run_plain(forward_step(new, moved))
    for name, one, other in zip(names(step), found, expected):
        if one.tobytes() != other.tobytes():
            raise Wrong(
                f"{step.op.name}: {name} depends on earlier calls: it is {one}, but {other} if the kernel file is "
                "freshly loaded"
            )


def _run_in_pieces(step: Step) -> list[np.ndarray]:
    outputs = [filled(array, 0) for group in step.outputs for array in group]
    cuts = [step.call.elements * i // _PIECES for i in range(_PIECES + 1)]
    # The last first, as threads may run them.
    for begin, end in reversed(list(itertools.pairwise(cuts))):
        if begin < end:
            step.call.run(begin, end)
    return [array.copy() for array in outputs]


def _compare(step: Step, first: list[np.ndarray], again: list[np.ndarray], how: str) -> None:
    for name, one, other in zip(names(step), first, again):
        if one.tobytes() != other.tobytes():
            raise Wrong(f"{step.op.name}: {name} changes when the kernel is {how}: {one}, then {other}")
