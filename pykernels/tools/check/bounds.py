"""Kernels touch no memory but that of their arrays."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable

from pykernels.call.arrays import KernelCall
from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.children import run_child
from pykernels.tools.check.execution import Refused
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.guarded import GuardedArray
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.steps_of import steps_of
from pykernels.tools.check.values import Kind

__all__ = ["check"]

# Of each a process is forked.
_EXAMPLES = 20


def check(subject: Subject) -> str:
    """Run every kernel on arrays that lie right beside memory that cannot be touched, in a process that may crash."""

    def judge(sample: Sample) -> None:
        try:
            steps = list(steps_of(subject, sample))
        except Refused as error:
            # NumPy raised, for an index, rather than the kernel itself.
            if isinstance(error.__cause__, IndexError) and not error.is_deliberate:
                raise Wrong(str(error)) from error
            raise
        _check_steps(subject, steps)

    return f"{search(subject, judge, subject.forms, [Kind.OWN], examples=_EXAMPLES)} calls"


def _check_steps(subject: Subject, steps: list[Step]) -> None:
    done = run_child(lambda tell: _touch(subject, steps, tell))
    if done.code == 0:
        return
    doing = done.said[-1] if done.said else steps[0].op.name
    if -done.code in (signal.SIGSEGV, signal.SIGBUS):
        raise Wrong(f"{doing} of an array, where it crashes")
    raise Wrong(doing if done.code == 1 else f"{doing} of an array; the process {done.how}")


def _touch(subject: Subject, steps: list[Step], tell: Callable[[str], None]) -> None:
    for step, (at_end, side) in itertools.product(steps, ((True, "the end"), (False, "the beginning"))):
        inputs = [[GuardedArray(array, at_end=at_end) for array in group] for group in step.inputs]
        outputs = [[GuardedArray(array, at_end=at_end) for array in group] for group in step.outputs]
        call = KernelCall(
            step.op,
            subject.module.number(step.op.name),
            [[each.array for each in group] for group in inputs],
            [[each.array for each in group] for group in outputs],
            step.attributes,
            is_train=step.is_train,
        )
        tell(f"{step.op.name}: the kernel reads or writes past {side}")
        call.run()
        for argument, group in zip((*step.op.inputs, *step.op.outputs), (*inputs, *outputs)):
            if not all(each.is_intact() for each in group):
                where = "before the beginning" if at_end else "past the end"
                raise Wrong(f"{step.op.name}: the kernel writes {where} of {argument.name}")
