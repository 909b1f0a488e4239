"""Transforms of graphs."""

from __future__ import annotations

from typing import Any

from pykernels.vendors.popxl.transforms.autodiff import (
    ExpectedConnection,
    ExpectedConnectionType,
    GradGraphInfo,
    autodiff,
)

__all__ = ["ExpectedConnection", "ExpectedConnectionType", "GradGraphInfo", "autodiff"]


def __getattr__(name: str) -> Any:
    from pykernels.vendors.popxl.missing import missing

    raise missing("popxl.transforms", name, __all__)
