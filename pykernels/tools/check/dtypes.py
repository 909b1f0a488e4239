"""Check that the kernel takes every dtype that the definition accepts."""

from __future__ import annotations

from pykernels.tools.check.findings import Wrong
from pykernels.tools.check.search import Subject


def check(subject: Subject) -> str:
    """Run the function in plain NumPy in each dtype; other checks leave out the dtypes that this one finds."""
    if subject.refused:
        raise refusal(subject)
    return ", ".join(dict.fromkeys(str(form.dtype) for form in subject.accepted))


def refusal(subject: Subject) -> Wrong:
    """Return the error that the kernel does not take some dtypes, with a call in the first of them."""
    sample, reason = next(iter(subject.refused.values()))
    names = ", ".join(map(str, subject.refused))
    error = Wrong(f"the definition accepts {names}, but the kernel does not: {reason}", sample)
    error.__cause__ = reason
    return error
