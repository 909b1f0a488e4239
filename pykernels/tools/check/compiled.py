"""Check that compiled kernels compute the same as plain NumPy."""

from __future__ import annotations

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.call.steps import Step, derivative_steps, forward_step
from pykernels.frameworks.comparison import difference
from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS
from pykernels.load.samples import Sample
from pykernels.tools.check.execution import Refused, names, rounding_errors, run_compiled, run_exact, run_plain
from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject, search, search_long
from pykernels.tools.check.values import Kind

# Before NumPy 2, numbers of NumPy's with Python numbers become float64, which overflows later.
_LEGACY_PROMOTION = int(np.__version__.split(".")[0]) < 2


def check(subject: Subject) -> str:
    """Compare every kernel with plain NumPy, of the op and of its derivatives, with and without training."""

    def judge(sample: Sample) -> None:
        for is_train in (False, True):
            forward = forward_step(subject.module, sample, is_train=is_train)
            _compare(subject, forward)
            for step in derivative_steps(subject.module, forward):
                _compare(subject, step)

    tried = search(subject, judge, subject.forms, [Kind.OWN, Kind.ORDINARY, Kind.EXTREME, *subject.kinds])
    tried += search_long(subject, judge, [Kind.OWN, Kind.ORDINARY])
    return f"{tried} calls, {', '.join(dict.fromkeys(str(form.dtype) for form in subject.forms))}"


def _compare(subject: Subject, step: Step) -> None:
    try:
        with subject.limited():
            expected = run_plain(step)
    except Refused as error:
        _must_fail(step, error)
        raise
    results = run_compiled(step)
    form = step.call.kernel.facts.form
    is_elementwise = form == ELEMENTWISE
    exact, errors = run_exact(step), None
    for number, (name, found, wanted) in enumerate(zip(names(step), results, expected)):
        truth = None if exact is None else exact[number]
        is_alike = (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        if _LEGACY_PROMOTION and is_alike and (found.ndim == 0 or form == LOOPS):
            found = np.where(np.isfinite(found), found, wanted)
        problem = difference(name, found, wanted, truth, is_elementwise=is_elementwise)
        if problem and exact is not None:
            # Where large numbers cancel, the errors of their last digits make up the result.
            errors = errors or rounding_errors(step, exact)
            moved = errors[number]
            if form not in (ELEMENTWISE, FUSED) and _is_chaotic(moved, wanted):
                continue
            problem = difference(name, found, wanted, truth, errors=moved, is_elementwise=is_elementwise)
        if problem:
            raise Wrong(f"{step.op.name}: the compiled {problem}, which plain NumPy computes")


def _is_chaotic(errors: np.ndarray, result: np.ndarray) -> bool:
    """Whether rounding errors take half of the digits of some number, as where they grow in each turn of a loop.

    They would be as large at other numbers in another run.
    """
    if result.dtype.kind not in "fc":
        return False
    size = np.max(np.abs(result), initial=1, where=np.isfinite(result))
    return bool(np.any(np.isfinite(errors) & (errors > np.sqrt(np.finfo(result.dtype).eps) * size)))


def _must_fail(step: Step, error: Refused) -> None:
    try:
        run_compiled(step)
    except KernelError:
        return
    raise Wrong(f"{step.op.name}: the compiled kernel returns a result, but plain NumPy raises: {error}") from error
