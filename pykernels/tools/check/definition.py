"""The files of an op load, and its definition, its kernels and its gradients fit together."""

from __future__ import annotations

from collections.abc import Sequence

from pykernels.base.errors import CallError, KernelError
from pykernels.call.steps import forward_step
from pykernels.call.uses import uses_of
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.forms import Form
from pykernels.tools.check.search import Subject, TooLong
from pykernels.tools.check.values import Kind, draw_sample

__all__ = ["check"]


def check(subject: Subject) -> str:
    """Load the op, infer and plan its gradients, and see that its kernel takes the dtypes that the definition takes."""
    module = subject.module
    module.check_files()
    _ = module.api
    _ = module.numbers  # which compares each kernel with its definition
    calls = subject.given or [draw_sample(form, [Kind.OWN], 0) for form in subject.forms]
    for sample in calls:
        try:
            for use in uses_of(module, sample):
                use.infer()
        except CallError as error:
            raise Wrong(f"the gradient of what the definition accepts is refused: {error}", sample) from error
    if subject.given is None:
        for dtype in dict.fromkeys(form.dtype for form in subject.forms):
            _check_dtype(subject, [form for form in subject.forms if form.dtype == dtype])
    return module.forward.schema()


def _check_dtype(subject: Subject, forms: Sequence[Form]) -> None:
    """Of all the calls in a dtype, the kernel must take one."""
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
                return  # the check of shapes tells more of it
            refused.append((sample, error))
    sample, reason = refused[0]
    raise Wrong(f"the definition accepts {forms[0].dtype}, but the kernel does not: {reason}", sample) from reason
