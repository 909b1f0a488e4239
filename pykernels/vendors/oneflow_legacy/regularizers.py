"""``flow.regularizers``: what is added to the gradients of variables."""

from __future__ import annotations

from dataclasses import dataclass

from pykernels.vendors.oneflow_legacy.missing import missing

__all__ = ["L2", "l2"]


@dataclass(frozen=True)
class L2:
    """Adds `factor` times the variable to its gradient."""

    factor: float


def l2(l: float = 0.01) -> L2:  # noqa: E741  (the parameter's name in OneFlow)
    """Regularize a variable by adding `l` times itself to its gradient: the gradient of ``l / 2 * sum(w**2)``."""
    return L2(float(l))


__getattr__ = missing("flow.regularizers", ["l2"])
