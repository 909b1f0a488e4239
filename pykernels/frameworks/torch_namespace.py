"""``torch.ops.<library>`` whose ops are built when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

__all__ = ["Namespace"]


class Namespace(torch._ops._OpNamespace):
    """Takes the place of ``torch.ops.<library>``, with what that has found already.

    Parameters
    ----------
    library : str
    enter : callable
        Has PyTorch know the op of a name, or raises `AttributeError` if neither we nor PyTorch have one.
    names : callable
        The names of the ops that there are.
    """

    # Saved programs refer to operators by it.
    __module__ = torch._ops._OpNamespace.__module__

    def __init__(self, library: str, enter: Callable[[str], None], names: Callable[[], Iterable[str]]) -> None:
        super().__init__(library)
        self._enter = enter
        self._names = names
        old = torch.ops.__dict__.get(library)
        if old is not None:
            self.__dict__.update({k: v for k, v in old.__dict__.items() if isinstance(v, torch._ops.OpOverloadPacket)})
        setattr(torch.ops, library, self)

    def __getattr__(self, op_name: str) -> Any:
        if not op_name.startswith("_"):
            self._enter(op_name)
        return super().__getattr__(op_name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names()})

    def forget(self, op_name: str) -> None:
        """Find an op anew when it is next asked for."""
        self.__dict__.pop(op_name, None)
        self._dir[:] = [name for name in self._dir if name != op_name]
