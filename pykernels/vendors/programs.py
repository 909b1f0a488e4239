"""Programs that scripts call and that are not installed, provided as commands of this package."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from pykernels.base.errors import CacheError
from pykernels.build import cache

__all__ = ["provide_program"]


def provide_program(name: str, module: str) -> None:
    """Have this process and those that it starts find a program, where there is none of that name.

    Parameters
    ----------
    name : str
    module : str
        What ``python -m pykernels run -m`` is to run in its place.
    """
    if shutil.which(name) is not None:
        return
    text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pykernels run -m {module} "$@"\n'

    def write(path: Path) -> dict[str, Any]:
        path.write_text(text)
        path.chmod(0o755)
        return {}

    # Few scripts call it: without a cache they do without.
    with contextlib.suppress(CacheError):
        made = cache.build("programs", cache.digest([name, text]), name, write)
        # Behind all others.
        os.environ["PATH"] = os.pathsep.join([*filter(None, [os.environ.get("PATH")]), str(made.path.parent)])
