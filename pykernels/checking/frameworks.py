"""Ops give the same in every installed framework as on NumPy's arrays, forward and backward, eagerly and in graphs."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pykernels
from pykernels.checking.cases import Trial, trials_of
from pykernels.checking.findings import Skipped, Wrong
from pykernels.checking.hosts import numpy
from pykernels.checking.hosts.judging import BY_FUNCTION, judge, way_name
from pykernels.checking.search import Subject
from pykernels.frameworks.installed import FRAMEWORKS, is_usable
from pykernels.module import OpModule

__all__ = ["check"]

# What is called how in messages, by package.
_FRAMEWORKS = {package: title for package, (title, *_) in FRAMEWORKS.items()}
_NUMPY = _FRAMEWORKS.pop("numpy")
# The seconds that a process may take.
_LIMIT = 240


def check(subject: Subject) -> str:
    """Call the op on NumPy's arrays in this process, and in each framework in one of its own."""
    if not subject.module.forward.inputs:
        raise Skipped("the op has no inputs, which tell frameworks apart")
    # What API functions look ops up in.
    pykernels.load_ops(subject.module.path)
    trials = trials_of(subject)
    if not trials:
        raise Skipped("no call could be tried")
    told = {_NUMPY: _on_arrays(trials)}
    installed = [package for package in _FRAMEWORKS if is_usable(package)]
    with ThreadPoolExecutor(len(_FRAMEWORKS)) as pool:
        found = list(pool.map(lambda package: _run(subject.module, package, trials), installed))
    for package, result in zip(installed, found):
        if isinstance(result, Wrong):
            raise result
        told[_FRAMEWORKS[package]] = result
    told |= {name: "not installed" for package, name in _FRAMEWORKS.items() if package not in installed}
    return "\n".join(f"{name}: {text}" for name, text in told.items())


def _run(module: OpModule, package: str, trials: Sequence[Trial]) -> str | Wrong:
    """What was tried in a framework, or what is wrong there."""
    with tempfile.TemporaryDirectory(prefix="pykernels-check-") as directory:
        request = Path(directory, "request")
        request.write_bytes(pickle.dumps((str(module.path), [each.case for each in trials])))
        command = [sys.executable, "-m", "pykernels.checking.hosts", package, str(request)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
            output, ended = done.stdout, _how(done.returncode, done.stderr)
        except subprocess.TimeoutExpired as error:
            output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
            ended = f"takes more than {_LIMIT} s"
    lines = [json.loads(line) for line in output.splitlines()]
    name = _FRAMEWORKS[package]
    for line in lines:
        if "wrong" in line:
            return Wrong(f"{name}, {line['way']}: {line['wrong']}", trials[line["case"]].sample)
    if not lines or "done" not in lines[-1]:
        last: dict[str, Any] = lines[-1] if lines else {"way": "loading the op", "case": 0}
        return Wrong(f"{name}, {last['way']}: the process {ended}", trials[last["case"]].sample)
    tried = [line for line in lines if "way" in line]
    return _tell([line["way"] for line in tried], [trials[line["case"]] for line in tried])


def _on_arrays(trials: Sequence[Trial]) -> str:
    """The same in this process: on NumPy's arrays."""
    ways = []
    for trial in trials:
        for name, way in numpy.ways(trial.case).items():
            ways.append(way_name(trial.case, name))
            told = judge(trial.case, way)
            if told:
                raise Wrong(f"{_NUMPY}, {ways[-1]}: {told}", trial.sample)
    return _tell(ways, trials)


def _tell(ways: Sequence[str], trials: Sequence[Trial]) -> str:
    """What was tried, in words."""
    if not trials:
        return "has no tensors for these inputs"
    plain = dict.fromkeys(way.removesuffix(BY_FUNCTION) for way in ways)
    is_called = any(way.endswith(BY_FUNCTION) for way in ways)
    dtypes = dict.fromkeys(str(trial.dtype) for trial in trials)
    return (
        f"{', '.join(plain)}{', and all this' + BY_FUNCTION if is_called else ''} "
        f"({len(ways)} calls, {', '.join(dtypes)})"
    )


def _how(code: int, said: str) -> str:
    last = [line for line in said.splitlines() if line.strip()][-1:]
    how = f"is ended by {signal.Signals(-code).name}" if code < 0 else f"ends with exit code {code}"
    return f"{how}{f': {last[0]}' if last else ''}"
