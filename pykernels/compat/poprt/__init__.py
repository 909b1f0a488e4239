"""``poprt`` of Graphcore's Poplar SDK, where it is not installed: its command line and shape functions, on the CPU.

After ``import pykernels.compat.poprt``, ``import poprt.passes`` works without Graphcore's packages; where they are
installed it gives theirs.
"""

from __future__ import annotations

from typing import Any

from pykernels.compat.providing import provide

__all__: list[str] = []

provide("poprt", __name__)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"poprt.{name}: poprt is not installed, and what pykernels provides in its place is poprt.cli and poprt.passes"
    )
