"""Check the gradients of gradients."""

from __future__ import annotations

from collections import Counter

from pykernels.load.samples import Sample
from pykernels.tools.check.findings import Skipped
from pykernels.tools.check.gradient import compare, described, differentiable, in_float64
from pykernels.tools.check.search import Subject, search
from pykernels.tools.check.values import Kind


def check(subject: Subject) -> str:
    """Compare the gradient of each op in the gradient with finite differences along each input."""
    module = subject.module
    forward_op = module.forward
    others = [op.name for op in module.definition.ops.values() if op.gradient is not None and op is not forward_op]
    if forward_op.gradient is None or not others:
        raise Skipped("no gradient has a gradient of its own")
    compared: set[str] = set()
    beside: Counter[str] = Counter()

    def judge(sample: Sample) -> None:
        for step in subject.steps(in_float64(sample)):
            if step.op.gradient is not None and step.op is not forward_op:
                compared.update(f"{step.op.name} along {name}" for name in compare(module, step, beside))

    tried = search(subject, judge, differentiable(subject), [Kind.OWN, Kind.ORDINARY])
    if not compared:
        raise Skipped("no gradient of a gradient depends on the gradients of its outputs")
    return f"{tried} calls, {', '.join(sorted(compared))}{described(beside)}"
