"""Check that an op's files load, and that its definition, kernels and gradients agree."""

from __future__ import annotations

from collections.abc import Sequence

from pykernels.base.errors import CallError, KernelError
from pykernels.call.steps import forward_step
from pykernels.call.uses import forward_use, gradient_uses
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.forms import Form
from pykernels.tools.check.search import Subject, TooLong
from pykernels.tools.check.values import Kind, draw_sample


def check(subject: Subject) -> str:
    """Load the op, infer and plan its gradients, and compare the dtypes that its kernel and its definition take."""
    module = subject.module
    module.check_files()
    _ = module.api
    _ = module.kernel_ids  # compares each kernel with its definition
    calls = subject.given or [draw_sample(form, [Kind.OWN], 0) for form in subject.forms]
    for sample in calls:
        try:
            forward = forward_use(module, sample)
            forward.infer()
            gradient_uses(module, forward)
        except CallError as error:
            raise Wrong(f"the definition accepts the call but refuses its gradient: {error}", sample) from error
    if subject.given is None:
        for dtype in dict.fromkeys(form.dtype for form in subject.forms):
            _check_dtype(subject, [form for form in subject.forms if form.dtype == dtype])
    return module.forward.schema()


def _check_dtype(subject: Subject, forms: Sequence[Form]) -> None:
    """Check that the kernel takes at least one call in a dtype."""
    refused: list[tuple[Sample, Exception]] = []
    for form in forms:
        sample = draw_sample(form, [Kind.OWN], 0)
        try:
            step = forward_step(subject.module, sample)
            with subject.limited():
                run_plain(step)
            return
        except TooLong:
            return
        except (KernelError, Refused) as error:
            if isinstance(error, Refused) and not (error.is_deliberate or isinstance(error.__cause__, TypeError)):
                return  # the check of shapes reports more about it
            refused.append((sample, error))
    sample, reason = refused[0]
    raise Wrong(f"the definition accepts {forms[0].dtype}, but the kernel does not: {reason}", sample) from reason
