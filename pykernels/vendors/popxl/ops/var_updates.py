"""Updates of variables; what they return is another name for the tensor that they change."""

from __future__ import annotations

from typing import Any

from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.missing import missing
from pykernels.vendors.popxl.nodes import assign
from pykernels.vendors.popxl.ops import in_place
from pykernels.vendors.popxl.ops.utils import cast_if_needed
from pykernels.vendors.popxl.tensor import Tensor

__all__ = [
    "accumulate_",
    "accumulate_mean_",
    "accumulate_moving_average_",
    "accumulate_moving_average_square_",
    "accumulate_square_",
    "accumulator_scale_",
    "accumulator_zero_",
    "copy_var_update_",
]

Factor = float | Tensor


@op_debug_context
def copy_var_update_(t: Tensor, X: Tensor) -> Tensor:  # noqa: N803
    """``t = X``, for tensors of one shape and dtype."""
    return assign(t, X)


@op_debug_context
def accumulate_(t: Tensor, X: Tensor, f: Factor | None = None) -> Tensor:  # noqa: N803
    """``t = t + f * X``."""
    return in_place.scaled_add_(t, X, b=1.0 if f is None else f)


@op_debug_context
def accumulate_square_(t: Tensor, X: Tensor, f: Factor = 1.0) -> Tensor:  # noqa: N803
    """``t = t + f * X * X``."""
    return in_place.scaled_add_(t, _square(t, X), b=f)


@op_debug_context
def accumulate_mean_(t: Tensor, X: Tensor, step: Factor) -> Tensor:  # noqa: N803
    """``t = step / (step + 1) * t + 1 / (step + 1) * X``: the mean, with X, of `step` values with the mean t."""
    before = cast_if_needed(t._ensure_tensor(step), t.dtype)
    return in_place.scaled_add_(t, X, before / (before + 1), 1 / (before + 1))


@op_debug_context
def accumulate_moving_average_(t: Tensor, X: Tensor, f: Factor) -> Tensor:  # noqa: N803
    """``t = f * t + (1 - f) * X``."""
    return in_place.scaled_add_(t, X, f, 1 - f)


@op_debug_context
def accumulate_moving_average_square_(t: Tensor, X: Tensor, f: Factor) -> Tensor:  # noqa: N803
    """``t = f * t + (1 - f) * X * X``."""
    return in_place.scaled_add_(t, _square(t, X), f, 1 - f)


@op_debug_context
def accumulator_scale_(t: Tensor, f: Factor) -> Tensor:
    """``t = f * t``; a factor of 0 gives zeros whatever `t` is."""
    get_current_context().graph.check_holds(t=t)
    if not isinstance(f, Tensor) and f == 0:
        return accumulator_zero_(t)
    return assign(t, t * cast_if_needed(t._ensure_tensor(f), t.dtype))


@op_debug_context
def accumulator_zero_(t: Tensor) -> Tensor:
    """``t = 0``."""
    from pykernels.vendors.popxl.gradients import zeros

    get_current_context().graph.check_holds(t=t)
    return assign(t, zeros(t))


def _square(t: Tensor, x: Tensor) -> Tensor:
    value = cast_if_needed(x, t.dtype)
    return value * value


def __getattr__(name: str) -> Any:
    raise missing("popxl.ops.var_updates", name, __all__)
