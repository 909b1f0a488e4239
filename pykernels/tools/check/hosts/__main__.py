"""The process that calls an op in one framework: ``python -m pykernels.tools.check.hosts FRAMEWORK FOLDER DESCRIPTOR``.

Once it has loaded both, it waits for a line, and reads the cases from the file descriptor. A line of JSON tells each
way that is tried, before it is; the last has what is wrong with it, if anything is.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pykernels.base.errors import PykernelsError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.frameworks.case import Case
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.load.discovery import load_ops
from pykernels.tools.check.hosts.judging import judge, way_name

# Its registrar takes longest to build, longer than all that is needed besides, so nothing should take its time.
_LONGEST = "oneflow"


def _main(framework: str, folder: Path, descriptor: int) -> None:
    os.nice(0 if framework == _LONGEST else 19)
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        threading.Thread(target=_build_registrar, args=[framework], daemon=True).start()
        load_ops(folder)
        host = FRAMEWORKS[framework].module("check")
        if sys.stdin.readline():
            with os.fdopen(descriptor, "rb") as cases:
                _try(host, pickle.load(cases), lambda told: print(json.dumps(told), file=lines))


def _build_registrar(framework: str) -> None:
    """Build what the op needs there, while all else is loaded; what goes wrong, calls of the op will tell."""
    with contextlib.suppress(PykernelsError):
        build_library(framework)


def _try(host: Any, cases: Sequence[Case], tell: Callable[[dict[str, Any]], None]) -> None:
    for number, case in enumerate(cases):
        if not host.takes(case):
            continue
        for name, way in host.ways(case).items():
            shown = way_name(case, name)
            tell({"case": number, "way": shown})
            told = judge(case, way)
            if told:
                tell({"case": number, "way": shown, "wrong": told})
                return
    tell({"done": True})


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
