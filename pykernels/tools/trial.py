"""Try an op in a framework, in its own process: ``python -m pykernels.tools.trial FRAMEWORK FOLDER``."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pykernels.compat.mxnet  # noqa: F401  (lets MXNet be imported with any NumPy)
from pykernels.base.errors import PykernelsError, PykernelsWarning
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.frameworks.installed import Installed, find_installed
from pykernels.load.discovery import load_ops
from pykernels.load.samples import usual_sample
from pykernels.tools.check.cases import forward_case, judge
from pykernels.tools.process import ModuleProcess, sending

# How long a framework may take, in seconds; the first trial builds its registrar.
_LIMIT = 300.0
# More elements would need the same kernels.
_ELEMENTS = 64


@dataclass(frozen=True)
class Trial:
    """The result of a trial: an `error`, empty if there is none, and our `warnings`."""

    error: str = ""
    warnings: list[str] = field(default_factory=list)


def try_everywhere(folder: Path, *, is_quick: bool = False) -> Iterator[tuple[Installed, Trial | None]]:
    """Yield each framework with the trial of an op folder in it; None if it is not installed, or if `is_quick`."""
    found = [find_installed(package) for package in FRAMEWORKS]
    with ThreadPoolExecutor() as pool:
        tried = [pool.submit(_try, each.package, folder) if each.version and not is_quick else None for each in found]
        for each, trial in zip(found, tried):
            yield each, None if trial is None else trial.result()


def _try(framework: str, folder: Path) -> Trial:
    """Run the forward op of a folder in an installed framework and compare it with the run on NumPy arrays."""
    variables = {"PYTHONWARNINGS": "ignore"}
    with ModuleProcess("pykernels.tools.trial", framework, str(folder), variables=variables) as process:
        for message in process.messages(_LIMIT):
            return Trial(**message)
        return Trial(f"its process {process.how_it_ended()}")


def _main(framework: str, folder: Path) -> Trial:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = _run(framework, folder)
    ours = (str(each.message) for each in caught if issubclass(each.category, PykernelsWarning))
    return Trial(error, list(dict.fromkeys(ours)))


def _run(framework: str, folder: Path) -> str:
    """Return what goes wrong, or an empty string."""
    try:
        importlib.import_module(framework)
    except Exception as error:
        return f"importing it fails: {type(error).__name__}: {error}"
    (module,) = load_ops(folder).values()
    try:
        case = forward_case(module, usual_sample(module, _ELEMENTS))
        way, *_ = FRAMEWORKS[framework].module("check").ways(case).values()
    except PykernelsError as error:
        return str(error)
    return judge(case, way) or ""


if __name__ == "__main__":
    with sending() as send:
        send(asdict(_main(sys.argv[1], Path(sys.argv[2]))))
