"""Messages for names that a module does not have."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["missing"]


def missing(place: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error of a module that stands for `place` and has `names`."""
    if name.startswith("__"):
        return AttributeError(name)
    return AttributeError(
        f"{place}.{name} is not provided by pykernels.vendors.popxl, which stands in for popxl on the CPU: {place} has "
        f"{', '.join(sorted(names))}"
    )
