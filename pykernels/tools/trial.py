"""Try an op in a framework, in a process of its own: ``python -m pykernels.tools.trial FRAMEWORK FOLDER``."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from pykernels.base.errors import PykernelsError, PykernelsWarning
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.load.discovery import load_ops
from pykernels.load.samples import sample
from pykernels.tools.check.cases import forward_case
from pykernels.tools.check.hosts.judging import judge

__all__ = ["Trial", "try_op"]

#: How long a framework may take, in seconds: the first time, its registrar is built.
TIMEOUT = 300.0
# Fewer make the same kernels.
_ELEMENTS = 64
_MARK = "pykernels trial: "


@dataclass(frozen=True)
class Trial:
    """What came of it: an `error`, or none, and `warnings` of ours."""

    error: str = ""
    warnings: list[str] = field(default_factory=list)


def try_op(framework: str, folder: Path) -> Trial:
    """Run the forward op of a folder in an installed framework and compare it with the run on NumPy arrays."""
    command = [sys.executable, "-m", "pykernels.tools.trial", framework, str(folder)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        return Trial(f"it does not end within {TIMEOUT:.0f} s")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return Trial(**json.loads(line.removeprefix(_MARK)))
    said = done.stderr.strip().splitlines()
    return Trial(f"the process that tries it ends with exit code {done.returncode}: {said[-1] if said else 'no word'}")


def _main(framework: str, folder: Path) -> Trial:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        error = _run(framework, folder)
    ours = (str(each.message) for each in told if issubclass(each.category, PykernelsWarning))
    return Trial(error, list(dict.fromkeys(ours)))


def _run(framework: str, folder: Path) -> str:
    """What goes wrong, if anything does."""
    try:
        importlib.import_module(framework)
    except Exception as error:
        return f"importing it fails: {type(error).__name__}: {error}"
    (module,) = load_ops(folder).values()
    try:
        case = forward_case(module, sample(module, _ELEMENTS, np.dtype(np.float32)))
        way, *_ = FRAMEWORKS[framework].module("check").ways(case).values()
    except PykernelsError as error:
        return str(error)
    return judge(case, way) or ""


if __name__ == "__main__":
    print(_MARK + json.dumps(asdict(_main(sys.argv[1], Path(sys.argv[2])))), flush=True)
