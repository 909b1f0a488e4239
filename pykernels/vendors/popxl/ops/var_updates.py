"""Define updates of variables, which change a tensor in place and return an alias of it."""

from __future__ import annotations

import sys

from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.nodes import assign, zeros
from pykernels.vendors.popxl.ops import elementwise
from pykernels.vendors.popxl.ops.utils import cast_if_needed
from pykernels.vendors.popxl.tensor import Tensor
from pykernels.vendors.providing import missing, public

Factor = float | Tensor


@op_debug_context
def copy_var_update_(t: Tensor, X: Tensor) -> Tensor:  # noqa: N803
    """Compute ``t = X`` in place, for tensors of the same shape and dtype."""
    return assign(t, X)


@op_debug_context
def accumulate_(t: Tensor, X: Tensor, f: Factor | None = None) -> Tensor:  # noqa: N803
    """Compute ``t = t + f * X`` in place."""
    return elementwise.scaled_add_(t, X, b=1.0 if f is None else f)


@op_debug_context
def accumulate_square_(t: Tensor, X: Tensor, f: Factor = 1.0) -> Tensor:  # noqa: N803
    """Compute ``t = t + f * X * X`` in place."""
    return elementwise.scaled_add_(t, _square(t, X), b=f)


@op_debug_context
def accumulate_mean_(t: Tensor, X: Tensor, step: Factor) -> Tensor:  # noqa: N803
    """Compute ``t = (step * t + X) / (step + 1)`` in place: include X in the mean t of `step` values."""
    before = cast_if_needed(t._ensure_tensor(step), t.dtype)
    return elementwise.scaled_add_(t, X, before / (before + 1), 1 / (before + 1))


@op_debug_context
def accumulate_moving_average_(t: Tensor, X: Tensor, f: Factor) -> Tensor:  # noqa: N803
    """Compute ``t = f * t + (1 - f) * X`` in place."""
    return elementwise.scaled_add_(t, X, f, 1 - f)


@op_debug_context
def accumulate_moving_average_square_(t: Tensor, X: Tensor, f: Factor) -> Tensor:  # noqa: N803
    """Compute ``t = f * t + (1 - f) * X * X`` in place."""
    return elementwise.scaled_add_(t, _square(t, X), f, 1 - f)


@op_debug_context
def accumulator_scale_(t: Tensor, f: Factor) -> Tensor:
    """Compute ``t = f * t`` in place; the number 0 as a factor gives zeros even for infinite or NaN elements."""
    get_current_context().graph.check_holds(t=t)
    if not isinstance(f, Tensor) and f == 0:
        return accumulator_zero_(t)
    return assign(t, t * cast_if_needed(t._ensure_tensor(f), t.dtype))


@op_debug_context
def accumulator_zero_(t: Tensor) -> Tensor:
    """Set all elements to 0 in place."""
    get_current_context().graph.check_holds(t=t)
    return assign(t, zeros(t))


def _square(t: Tensor, x: Tensor) -> Tensor:
    value = cast_if_needed(x, t.dtype)
    return value * value


__getattr__ = missing("popxl.ops.var_updates", public(sys.modules[__name__]), __name__)
