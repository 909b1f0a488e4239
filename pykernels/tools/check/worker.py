"""The process that checks one op: reads a `Request` from a file, and writes a line of JSON for each step.

A process of its own, so that a kernel that crashes, or takes for ever, ends nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import pickle
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykernels.base.errors import PykernelsError, PykernelsWarning
from pykernels.load.module import OpModule
from pykernels.load.samples import LacksAttribute, read_sample
from pykernels.tools.check import CHECKS, frameworks, script
from pykernels.tools.check.arguments import Arguments
from pykernels.tools.check.findings import FAILED, PASSED, SKIPPED, Result, Skipped, Wrong
from pykernels.tools.check.search import Subject

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What to check: a folder, with which checks, and on which calls (arguments by name).

    Without calls, it is any that are like those that `arguments` make.
    """

    folder: str
    checks: tuple[str, ...]
    calls: list[dict[str, Any]] | None
    arguments: Arguments = field(default_factory=Arguments)


def main(request: Request, tell: Callable[[dict[str, Any]], None]) -> None:
    """Carry the checks out one after the other, and tell when each begins and what has come of it."""
    folder = Path(request.folder)
    module = OpModule(folder.name, folder).py_api().cpp_def().py_kernel()
    calls, refused = None, None
    if request.calls is not None:
        try:
            calls = [read_sample(module, each) for each in request.calls]
        except PykernelsError as error:
            refused = str(error)
    # They take long to load, so they do it beside the other checks.
    hosts = frameworks.start_hosts(folder) if "frameworks" in request.checks and not refused else {}
    subject = Subject(module, calls, request.arguments, hosts)
    for name in request.checks:
        tell({"begins": name})
        start = time.perf_counter()
        result = Result(module.name, name, FAILED, refused) if refused else _check(subject, name)
        tell(dataclasses.asdict(dataclasses.replace(result, seconds=time.perf_counter() - start)))
        if result.check == "compiled" and result.outcome == PASSED and hosts:
            tell({"begins": "frameworks"})
            with contextlib.suppress(Exception):  # told when it is that check's turn
                frameworks.begin(subject)


def _check(subject: Subject, name: str) -> Result:
    op = subject.module.name
    check = importlib.import_module(f"pykernels.tools.check.{CHECKS[name]}").check
    try:
        return Result(op, name, PASSED, check(subject))
    except (Skipped, LacksAttribute) as reason:
        return Result(op, name, SKIPPED, str(reason))
    except Wrong as error:
        return Result(op, name, FAILED, str(error), *script.show(subject.module, name, error.sample))
    except PykernelsError as error:
        return Result(op, name, FAILED, str(error), *script.show(subject.module, name, None))
    except Exception as error:
        # A check that fails of itself must not be taken for a success.
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"the check itself failed: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Result(op, name, FAILED, told, *script.show(subject.module, name, None))


def _report(path: Path) -> None:
    # Whatever prints, does not print between the lines.
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        os.dup2(2, 1)
        # That a kernel runs as Python is no finding.
        warnings.simplefilter("ignore", PykernelsWarning)
        request = pickle.loads(path.read_bytes())
        main(request, lambda told: print(json.dumps(told), file=lines))


if __name__ == "__main__":
    _report(Path(sys.argv[1]))
