"""Texts of `help` for objects that have more to say than their class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["InstanceHelp", "shown_signature"]


class InstanceHelp:
    """As the ``__doc__`` of a class: its own docstring, and for each of its objects what `tell` returns."""

    def __init__(self, text: str | None, tell: Callable[[Any], str]) -> None:
        self._text = text
        self._tell = tell

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self._text if instance is None else self._tell(instance)


def shown_signature(function: Callable[..., Any]) -> str:
    """The signature of a function, with annotations as they are written."""
    try:
        return str(inspect.signature(function, eval_str=True))
    except Exception:  # whatever an annotation raises that only type checkers read
        return str(inspect.signature(function))
