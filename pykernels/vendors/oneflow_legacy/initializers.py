"""Explain calls of ``flow.zeros_initializer`` and other initializers, which OneFlow lacks since version 0.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykernels.base.errors import CallError

NAMES = [
    f"{kind}_initializer"
    for kind in (
        *("constant", "glorot_normal", "glorot_uniform", "kaiming", "ones", "random_normal", "random_uniform"),
        *("truncated_normal", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros"),
    )
]


def refusing(name: str) -> Callable[..., Any]:
    """Return a function that stands in for an initializer and raises `CallError`."""

    def initializer(*_: Any, **__: Any) -> Any:
        raise CallError(
            f"flow.{name}: OneFlow has no initializers since 0.9, so new variables (flow.get_variable, flow.layers) "
            "need OneFlow 0.8: pip install oneflow==0.8.0"
        )

    return initializer
