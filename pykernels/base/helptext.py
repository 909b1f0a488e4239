"""Give objects their own `help` texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class InstanceHelp:
    """The ``__doc__`` of a class: the class's docstring, and for each instance what `describe` returns."""

    def __init__(self, text: str | None, describe: Callable[[Any], str]) -> None:
        self._text = text
        self._describe = describe

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self._text if instance is None else self._describe(instance)


def shown_signature(function: Callable[..., Any]) -> str:
    """Return the signature of a function, with evaluated annotations if possible."""
    try:
        return str(inspect.signature(function, eval_str=True))
    except Exception:  # annotations that only type checkers read may raise anything
        return str(inspect.signature(function))
