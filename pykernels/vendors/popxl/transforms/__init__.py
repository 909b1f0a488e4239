"""Provide the transforms of graphs: automatic differentiation."""

from __future__ import annotations

from pykernels.vendors.popxl.transforms.autodiff import (
    ExpectedConnection,
    ExpectedConnectionType,
    GradGraphInfo,
    autodiff,
)
from pykernels.vendors.providing import missing

__all__ = ["ExpectedConnection", "ExpectedConnectionType", "GradGraphInfo", "autodiff"]

__getattr__ = missing("popxl.transforms", __all__, __name__)
