"""What the modules that stand for OneFlow's say about the names that they do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pykernels.base.refusals import MissingName

__all__ = ["missing"]


def missing(place: str, names: Iterable[str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``, for the names that it lacks.

    Parameters
    ----------
    place : str
        What the module stands for, such as ``flow.scope``.
    names : iterable of str
        What it has.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("__"):
            raise AttributeError(name)
        provided = ", ".join(names)
        raise MissingName(f"{place}.{name} is not provided by pykernels.vendors.oneflow_legacy: it has {provided}")

    return __getattr__
