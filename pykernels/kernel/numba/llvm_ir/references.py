"""Find the references to count in LLVM IR, without the code that numba emits to unpack every value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba import types as nb
from numba.core.runtime.context import NRTContext


class References(NRTContext):  # type: ignore[misc]
    """Unpacks only the values whose types may hold references; unpacking all of them is a quarter of numba's IR."""

    @functools.cached_property
    def _may_refer(self) -> Callable[[nb.Type], bool]:
        return functools.cache(lambda type_: self._context.data_model_manager[type_].contains_nrt_meminfo())

    def get_meminfos(self, builder: Any, ty: nb.Type, val: Any) -> list[tuple[nb.Type, Any]]:
        """Return the types and the addresses of what a value refers to."""
        model = self._context.data_model_manager[ty]
        if model.has_nrt_meminfo():
            return list(super().get_meminfos(builder, ty, val))
        members = [(type_, get) for type_, get in model.traverse(builder) if self._may_refer(type_)]
        return [found for type_, get in members for found in self.get_meminfos(builder, type_, get(val))]
