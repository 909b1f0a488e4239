"""Ops give the same in every installed framework as on NumPy's arrays, forward and backward, eagerly and in graphs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pykernels.base.frameworks import FRAMEWORKS
from pykernels.frameworks.installed import is_usable
from pykernels.frameworks.numpy import check as arrays
from pykernels.load.discovery import load_ops
from pykernels.tools.check.cases import trials_of
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.host_process import HostProcess
from pykernels.tools.check.hosts.judging import BY_FUNCTION, judge, way_name
from pykernels.tools.check.search import Subject, Trial

__all__ = ["begin", "check", "start_hosts"]

# What is called how in messages, by package.
_FRAMEWORKS = {package: framework.title for package, framework in FRAMEWORKS.items()}
_NUMPY = _FRAMEWORKS.pop("numpy")
# The seconds that a process may take.
_LIMIT = 240


def start_hosts(folder: Path) -> dict[str, HostProcess]:
    """Start a process for each installed framework, by package, which loads it and an op folder."""
    return {package: HostProcess(package, folder) for package in _FRAMEWORKS if is_usable(package)}


def begin(subject: Subject) -> None:
    """Give the processes the calls to try, which takes them as long as all other checks do."""
    # What API functions look ops up in.
    load_ops(subject.module.path)
    subject.trials = trials_of(subject)
    for host in subject.hosts.values():
        host.give([each.case for each in subject.trials])


def check(subject: Subject) -> str:
    """Call the op on NumPy's arrays in this process, and in each framework in one of its own."""
    if not subject.module.forward.inputs:
        raise Skipped("the op has no inputs, which tell frameworks apart")
    if subject.trials is None:
        begin(subject)
    trials = subject.trials
    if not trials:
        raise Skipped("no call could be tried")
    with ThreadPoolExecutor(len(_FRAMEWORKS)) as pool:
        waiting = [pool.submit(_result, package, host, trials) for package, host in subject.hosts.items()]
        try:
            told = {_NUMPY: _on_arrays(trials)}
        except Wrong:
            for host in subject.hosts.values():
                host.end()
            raise
        found = [each.result() for each in waiting]
    for package, result in zip(subject.hosts, found):
        if isinstance(result, Wrong):
            raise result
        told[_FRAMEWORKS[package]] = result
    told |= {name: "not installed" for package, name in _FRAMEWORKS.items() if package not in subject.hosts}
    return "\n".join(f"{name}: {text}" for name, text in told.items())


def _result(package: str, host: HostProcess, trials: Sequence[Trial]) -> str | Wrong:
    """What was tried in a framework, or what is wrong there."""
    lines, ended = host.result(_LIMIT)
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
        for name, way in arrays.ways(trial.case).items():
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
