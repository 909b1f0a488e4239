"""Python's operators of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pykernels.base.errors import CallError
from pykernels.vendors.popxl import dtypes

if TYPE_CHECKING:
    from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["Operators"]

_T = TypeVar("_T", bound="Operators")


class Operators:
    """What tensors have their operators from, each of which is an op of `ops`."""

    #: Arrays leave operators with tensors to the tensors.
    __array_ufunc__ = None

    dtype: dtypes.dtype

    def _ensure_tensor(self, value: Any, dtype: dtypes.dtype | None = None) -> Tensor:
        """`value`, or a constant of it with this tensor's dtype."""
        from pykernels.vendors.popxl.tensor import Tensor, constant

        if isinstance(value, Tensor):
            return value
        made = constant(value, dtype or self.dtype)
        if made.nelms == 0:
            raise CallError(f"{value!r} has no elements; if that is meant, make a popxl.constant of it")
        return made

    def _apply(self, op: str, *operands: Any) -> Tensor:
        """An op of tensors, or of what becomes constants like this one."""
        from pykernels.vendors.popxl import ops

        made: Tensor = getattr(ops, op)(*map(self._ensure_tensor, operands))
        return made

    def __neg__(self) -> Tensor:
        return self._apply("negate", self)

    def __invert__(self) -> Tensor:
        return self._apply("logical_not", self)

    def __iadd__(self: _T, other: Any) -> _T:
        self._apply("add_", self, other)
        return self

    def __add__(self, other: Any) -> Tensor:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._apply("div", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return self._apply("fmod", self, other)

    def __rmod__(self, other: Any) -> Tensor:
        return self._apply("fmod", other, self)

    def __pow__(self, other: Any) -> Tensor:
        return self._apply("pow", self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return self._apply("pow", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return self._apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._apply("matmul", other, self)

    def __and__(self, other: Any) -> Tensor:
        return self._apply("logical_and", self, other)

    def __rand__(self, other: Any) -> Tensor:
        return self._apply("logical_and", other, self)

    def __or__(self, other: Any) -> Tensor:
        return self._apply("logical_or", self, other)

    def __ror__(self, other: Any) -> Tensor:
        return self._apply("logical_or", other, self)
