"""A stand-in for ``poprt`` of Graphcore's Poplar SDK: its command line, passes and shape functions.

After ``import pykernels.vendors.poprt``, ``import poprt.passes`` works without Graphcore's packages; if they are
installed, it imports theirs.
"""

from __future__ import annotations

import importlib
from typing import Any

from pykernels.vendors.providing import missing, provide

__all__ = ["Pass", "PassManager", "get_pass", "get_registered_passes"]

provide("poprt", __name__)
_missing = missing("poprt", [*__all__, "cli", "passes"], __name__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        # Imported late, so that importing a single module stays cheap.
        return getattr(importlib.import_module(f"{__name__}.passes"), name)
    return _missing(name)
