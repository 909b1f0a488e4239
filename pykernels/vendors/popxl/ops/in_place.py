"""Ops that change their first tensor; what they return is another name for it."""

from __future__ import annotations

from collections.abc import Callable

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.nodes import assign
from pykernels.vendors.popxl.ops import elementwise
from pykernels.vendors.popxl.ops.utils import cast_if_needed
from pykernels.vendors.popxl.tensor import Tensor

__all__ = ["add_", "exp_", "gelu_", "geluerf_", "relu_", "scaled_add", "scaled_add_", "swish_"]


def _in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @op_debug_context(name)
    def op(*tensors: Tensor) -> Tensor:
        return assign(tensors[0], function(*tensors))

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"As `{function.__name__}`, written over the first tensor."
    return op


add_ = _in_place("add_", elementwise.add)
exp_ = _in_place("exp_", elementwise.exp)
gelu_ = _in_place("gelu_", elementwise.gelu)
geluerf_ = _in_place("geluerf_", elementwise.geluerf)
relu_ = _in_place("relu_", elementwise.relu)
swish_ = _in_place("swish_", elementwise.swish)


@op_debug_context
def scaled_add(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    a: float | Tensor = 1.0,
    b: float | Tensor = 1.0,
) -> Tensor:
    """``a * X + b * Y``, of the dtype of `X`.

    Parameters
    ----------
    X, Y : Tensor
        Of one shape; dtypes may differ.
    a, b : Tensor or number
        Scalars.

    Raises
    ------
    CallError
        Shapes differ, or a factor is no scalar.
    """
    context = get_current_context()
    context.graph.check_holds(X=X, Y=Y)
    if X.shape != Y.shape:
        raise CallError(f"{context.op_name}: {X!r} and {Y!r} must have the same shape")
    return _scaled(X, a, X) + _scaled(Y, b, X)


@op_debug_context
def scaled_add_(
    X: Tensor,  # noqa: N803
    Y: Tensor,  # noqa: N803
    a: float | Tensor = 1.0,
    b: float | Tensor = 1.0,
) -> Tensor:
    """As `scaled_add`, written over `X`."""
    return assign(X, scaled_add(X, Y, a, b))


def _scaled(t: Tensor, factor: float | Tensor, like: Tensor) -> Tensor:
    t = cast_if_needed(t, like.dtype)
    if isinstance(factor, (int, float)) and factor == 1:
        return t
    scale = t._ensure_tensor(factor)
    if scale.nelms != 1 or scale.rank > t.rank:
        raise CallError(f"{get_current_context().op_name}: {scale!r} is no scalar")
    return t * cast_if_needed(scale, t.dtype)
