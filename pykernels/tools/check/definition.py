"""Check that an op's files load, and that its definition, kernels and gradients agree."""

from __future__ import annotations

from pykernels.base.errors import CallError
from pykernels.call.uses import forward_use, gradient_uses
from pykernels.tools.check import dtypes
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject
from pykernels.tools.check.values import Kind, draw_sample
from pykernels.tools.derive import outdated


def check(subject: Subject) -> str:
    """Load the op, infer and plan its gradients, and compare its kernel with its definition."""
    module = subject.module
    module.check_files()
    _ = module.api
    _ = module.kernel_ids  # compares each kernel with its definition
    for target in outdated(module.source.path.read_text(encoding="utf-8")):
        raise Wrong(
            f"{module.source.path.name}: {target.name} is derived from another {target.source}. Run python -m "
            f"pykernels derive {module.name}{target.options}, or remove the line above if you have edited it"
        )
    calls = subject.given or [draw_sample(form, [Kind.OWN], 0) for form in subject.accepted]
    for sample in calls:
        try:
            forward = forward_use(module, sample)
            forward.infer()
            gradient_uses(module, forward)
        except CallError as error:
            raise Wrong(f"the definition accepts the call but refuses its gradient: {error}", sample) from error
    if subject.given is None and subject.refused.keys() == {form.dtype for form in subject.accepted}:
        raise dtypes.refusal(subject)
    return module.forward.schema()
