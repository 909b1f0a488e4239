"""Define ``flow.regularizers``, which add terms to the gradients of variables."""

from __future__ import annotations

from dataclasses import dataclass

from pykernels.vendors.providing import missing


@dataclass(frozen=True)
class L2:
    """A regularizer that adds `factor` times the variable to its gradient."""

    factor: float


def l2(l: float = 0.01) -> L2:  # noqa: E741  (the parameter's name in OneFlow)
    """Return a regularizer that adds ``l * w``, the gradient of ``l / 2 * sum(w**2)``, to the gradient of `w`."""
    return L2(float(l))


__getattr__ = missing("flow.regularizers", ["l2"], __name__)
