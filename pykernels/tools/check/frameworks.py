"""Check that ops compute the same in every installed framework as on NumPy arrays, eagerly and in graphs.

Each framework has a process of its own: ``python -m pykernels.tools.check.frameworks FRAMEWORK FOLDER``. After loading
both, it receives the cases. It sends a message before it tries each way to call the op, and one for the first error.

The module `check` of a framework's package has two functions. ``takes(case)`` returns whether the framework can run
the call. ``ways(case)`` returns a function for each way to call the op, by its name; the function returns a
`frameworks.case.Outcome`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pykernels.base.errors import PykernelsError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.frameworks.case import Case
from pykernels.frameworks.installed import is_usable
from pykernels.frameworks.numpy import check as arrays
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.load.discovery import load_ops
from pykernels.tools.check.cases import BY_FUNCTION, judge, trials_of, way_name
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.search import Subject, Trial
from pykernels.tools.process import ModuleProcess, receive, sending

# The frameworks' titles, by package.
_FRAMEWORKS = {package: framework.title for package, framework in FRAMEWORKS.items()}
_NUMPY = _FRAMEWORKS.pop("numpy")
# How long a process may take to load a framework, or for one way to call an op, in seconds.
_LIMIT = 240
# Its registrar takes longest to build, longer than everything else together, so it gets priority.
_LONGEST = "oneflow"


def start_hosts(folder: Path) -> dict[str, ModuleProcess]:
    """Start a process for each installed framework, which loads it and an op folder; return them by package."""
    return {
        package: ModuleProcess("pykernels.tools.check.frameworks", package, str(folder))
        for package in _FRAMEWORKS
        if is_usable(package)
    }


def begin(subject: Subject) -> None:
    """Give the processes the calls to try; they take about as long as all other checks."""
    # API functions look up loaded ops.
    load_ops(subject.module.path)
    subject.trials = trials_of(subject)
    for host in subject.hosts.values():
        host.send([each.case for each in subject.trials])


def check(subject: Subject) -> str:
    """Call the op on NumPy arrays in this process, and in each framework in a process of its own."""
    if not subject.module.forward.inputs:
        raise Skipped("the op has no inputs, by which calls find their framework")
    if subject.trials is None:
        begin(subject)
    trials = subject.trials
    if not trials:
        raise Skipped("no call could be tried")
    with ThreadPoolExecutor(len(_FRAMEWORKS)) as pool:
        waiting = [pool.submit(_result, package, host, trials) for package, host in subject.hosts.items()]
        try:
            results = {_NUMPY: _on_arrays(trials)}
        except Wrong:
            for host in subject.hosts.values():
                host.kill()
            raise
        found = [each.result() for each in waiting]
    for package, result in zip(subject.hosts, found):
        if isinstance(result, Wrong):
            raise result
        results[_FRAMEWORKS[package]] = result
    results |= {name: "not installed" for package, name in _FRAMEWORKS.items() if package not in subject.hosts}
    return "\n".join(f"{name}: {text}" for name, text in results.items())


def _result(package: str, host: ModuleProcess, trials: Sequence[Trial]) -> str | Wrong:
    """Return what was tried in a framework, or the error found there."""
    name, lines = _FRAMEWORKS[package], list(host.messages(_LIMIT))
    for line in lines:
        if "wrong" in line:
            return Wrong(f"{name}, {line['way']}: {line['wrong']}", trials[line["case"]].sample)
    if not lines or "done" not in lines[-1]:
        last: dict[str, Any] = lines[-1] if lines else {"way": "loading the op", "case": 0}
        return Wrong(f"{name}, {last['way']}: the process {host.how_it_ended()}", trials[last["case"]].sample)
    tried = [line for line in lines if "way" in line]
    return _describe([line["way"] for line in tried], [trials[line["case"]] for line in tried])


def _on_arrays(trials: Sequence[Trial]) -> str:
    """Try the calls on NumPy arrays in this process, and return what was tried."""
    ways = []
    for trial in trials:
        for name, way in arrays.ways(trial.case).items():
            ways.append(way_name(trial.case, name))
            problem = judge(trial.case, way)
            if problem:
                raise Wrong(f"{_NUMPY}, {ways[-1]}: {problem}", trial.sample)
    return _describe(ways, trials)


def _describe(ways: Sequence[str], trials: Sequence[Trial]) -> str:
    """Describe what was tried."""
    if not trials:
        return "does not take these calls"
    plain = dict.fromkeys(way.removesuffix(BY_FUNCTION) for way in ways)
    is_called = any(way.endswith(BY_FUNCTION) for way in ways)
    dtypes = dict.fromkeys(str(trial.dtype) for trial in trials)
    return (
        f"{', '.join(plain)}{', and all this' + BY_FUNCTION if is_called else ''} "
        f"({len(ways)} calls, {', '.join(dtypes)})"
    )


def _main(framework: str, folder: Path, report: Callable[[dict[str, Any]], None]) -> None:
    os.nice(0 if framework == _LONGEST else 19)
    warnings.simplefilter("ignore")
    threading.Thread(target=_build_registrar, args=[framework], daemon=True).start()
    load_ops(folder)
    host = FRAMEWORKS[framework].module("check")
    try:
        cases = receive()
    except EOFError:  # another check has failed
        return
    _try(host, cases, report)


def _build_registrar(framework: str) -> None:
    """Build the registrar while everything else loads; calls of the op report its errors."""
    with contextlib.suppress(PykernelsError):
        build_library(framework)


def _try(host: Any, cases: Sequence[Case], report: Callable[[dict[str, Any]], None]) -> None:
    for number, case in enumerate(cases):
        if not host.takes(case):
            continue
        for name, way in host.ways(case).items():
            shown = way_name(case, name)
            report({"case": number, "way": shown})
            problem = judge(case, way)
            if problem:
                report({"case": number, "way": shown, "wrong": problem})
                return
    report({"done": True})


if __name__ == "__main__":
    with sending() as send:
        _main(sys.argv[1], Path(sys.argv[2]), send)
