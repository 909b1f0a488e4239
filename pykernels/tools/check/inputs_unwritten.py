"""Check that kernels do not write to their inputs, except to states."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from pykernels.call.steps import Step
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, run_compiled
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind


def check(subject: Subject) -> str:
    """Compare the bytes of inputs before and after every kernel."""

    def judge(sample: Sample) -> None:
        inputs = copy.deepcopy(sample.inputs)
        try:
            for step in subject.steps(sample):
                # Plain NumPy has already run the forward step, so compare with the inputs as they were before.
                _check_step(step, inputs if step.op is subject.module.forward else copy.deepcopy(step.inputs))
        except Refused as error:
            # NumPy's message for a write to a read-only array.
            if "read-only" in str(error.__cause__):
                raise Wrong(str(error)) from error
            raise

    return f"{search(subject, judge, subject.forms, [Kind.OWN, Kind.ORDINARY])} calls"


def _check_step(step: Step, before: Sequence[Sequence[np.ndarray]]) -> None:
    run_compiled(step)
    for argument, group, contents in zip(step.op.inputs, step.inputs, before):
        if not argument.mutable and any(a.tobytes() != b.tobytes() for a, b in zip(group, contents)):
            raise Wrong(
                f"{step.op.name}: the kernel writes to its input {argument.name}, which belongs to the framework"
            )
