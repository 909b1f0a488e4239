"""Stand in for ``distutils.version``, which Python 3.12 has removed."""

from __future__ import annotations

import functools
import re
import types


@functools.total_ordering
class Version:
    """A version that compares by its numbers: 1.10.0rc1 is 1.10.0, and more than 1.9."""

    def __init__(self, text: str) -> None:
        self._numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._numbers == other._numbers

    def __lt__(self, other: Version) -> bool:
        return self._numbers < other._numbers

    __hash__ = None  # type: ignore[assignment]


@functools.cache
def module() -> types.ModuleType:
    """Return the module with the names that it has in Python."""
    made = types.ModuleType("distutils.version", __doc__)
    vars(made).update(LooseVersion=Version, StrictVersion=Version)
    return made
