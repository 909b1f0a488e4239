"""``popxl.Module``: a function that builds a graph, with a memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pykernels.base.refusals import NotProvided

if TYPE_CHECKING:
    from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["Module"]


class Module:
    """Base of layers: `build` makes the ops of one and may keep the graph's inputs as attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Iterable[Tensor] | None:
        """As `build`."""
        return self.build(*args, **kwargs)

    def build(self, *args: Any, **kwargs: Any) -> Tensor | Iterable[Tensor] | None:
        """Make the ops; returns the outputs of the graph."""
        raise NotProvided(f"{type(self).__qualname__} is a popxl.Module and has to define build()")
