"""What calls of ``flow.zeros_initializer`` and the like say where OneFlow has them no more, so since 0.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykernels.base.errors import CallError

__all__ = ["NAMES", "refusing"]

NAMES = (
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "kaiming_initializer",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "variance_scaling_initializer",
    "xavier_normal_initializer",
    "xavier_uniform_initializer",
    "zeros_initializer",
)


def refusing(name: str) -> Callable[..., Any]:
    """A function that stands for an initializer, and raises `CallError`."""

    def initializer(*_: Any, **__: Any) -> Any:
        raise CallError(
            f"flow.{name}: OneFlow has no initializers since 0.9, so new variables (flow.get_variable, flow.layers) "
            "need OneFlow 0.8: pip install oneflow==0.8.0"
        )

    return initializer
