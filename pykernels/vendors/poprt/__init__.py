"""``poprt`` of Graphcore's Poplar SDK, where it is not installed: its command line, passes and shape functions.

After ``import pykernels.vendors.poprt``, ``import poprt.passes`` works without Graphcore's packages; where they are
installed it gives theirs.
"""

from __future__ import annotations

import importlib
from typing import Any

from pykernels.base.refusals import MissingName
from pykernels.vendors.providing import provide

__all__ = ["Pass", "PassManager", "get_pass", "get_registered_passes"]

provide("poprt", __name__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        # Not above: imports of one module alone stay small.
        return getattr(importlib.import_module(f"{__name__}.passes"), name)
    raise MissingName(
        f"poprt.{name}: poprt is not installed, and what pykernels provides in its place is poprt.cli and poprt.passes"
    )
