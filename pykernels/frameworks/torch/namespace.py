"""Provide a namespace ``torch.ops.<library>`` that registers its ops on first access."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch


class Namespace(torch._ops._OpNamespace):
    """Replacement for ``torch.ops.<library>`` that keeps the ops found there so far.

    Parameters
    ----------
    library : str
    enter : callable
        Registers the op of a name with PyTorch; raises `AttributeError` if neither pykernels nor PyTorch has one.
    names : callable
        Returns the names of all ops.
    describe : callable
        Returns the text that `help` shows for the op of a name beside its schema.
    """

    # Saved programs refer to operators by this name.
    __module__ = torch._ops._OpNamespace.__module__

    def __init__(
        self,
        library: str,
        enter: Callable[[str], None],
        names: Callable[[], Iterable[str]],
        describe: Callable[[str], str | None],
    ) -> None:
        super().__init__(library)
        self._describe = describe
        self._enter = enter
        self._names = names
        old = torch.ops.__dict__.get(library)
        if old is not None:
            known = list(old.__dict__.items())
            self.__dict__.update({k: v for k, v in known if isinstance(v, torch._ops.OpOverloadPacket)})
        setattr(torch.ops, library, self)

    def __getattr__(self, op_name: str) -> Any:
        if not op_name.startswith("_"):
            self._enter(op_name)
        # Rules may have looked it up meanwhile, and are kept with what they found.
        found = self.__dict__.get(op_name) or super().__getattr__(op_name)
        if isinstance(found, torch._ops.OpOverloadPacket):
            text = self._describe(op_name)
            if text is not None:
                schema = found.default._schema
                found.__doc__ = f"{schema}\n\n{text}".rstrip()
                found.__signature__ = _signature(schema)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names()})

    def forget(self, op_name: str) -> None:
        """Forget an op, so that the next access looks it up again."""
        self.__dict__.pop(op_name, None)
        self._dir[:] = [name for name in self._dir if name != op_name]


def _signature(schema: Any) -> inspect.Signature:
    """Return a schema as a Python signature, for `help` and editors."""
    kinds = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
    parameters = [
        inspect.Parameter(
            each.name,
            kinds[each.kwarg_only],
            default=each.default_value if each.has_default_value() else inspect.Parameter.empty,
            annotation=each.type,
        )
        for each in schema.arguments
    ]
    return inspect.Signature(parameters)
