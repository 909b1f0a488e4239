"""Run checks in a separate process, so that a crash or hang is a finding and the other checks continue.

The process, ``python -m pykernels.tools.check.runner``, receives what `_main` takes, and sends a message at the
beginning and at the end of each check.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pykernels.base.errors import CallError, LoadError, PykernelsError, PykernelsWarning
from pykernels.load.module import open_folder
from pykernels.load.samples import MissingAttribute, read_sample
from pykernels.tools.bench.measure import ONE_THREAD
from pykernels.tools.check import CHECKS, frameworks
from pykernels.tools.check.findings import FAILED, PASSED, SKIPPED, Result, Skipped, Wrong, program, show
from pykernels.tools.check.forms import Arguments
from pykernels.tools.check.search import Subject
from pykernels.tools.process import ModuleProcess, receive, sending

#: How long one check of one op may take, in seconds.
LIMIT = 300


def choose(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the checks with these names in the order of reports, or all; raise `CallError` for an unknown name."""
    for name in names or ():
        if name not in CHECKS:
            raise CallError(f"check {name!r} does not exist; the checks are {', '.join(CHECKS)}")
    return tuple(name for name in CHECKS if not names or name in names)


def run_checks(
    folder: Path,
    checks: Sequence[str],
    calls: Sequence[Mapping[str, Any]] | None = None,
    *,
    arguments: Arguments | None = None,
    limit: float = LIMIT,
    begun: Callable[[str], None] = lambda check: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Result]:
    """Yield the results of these checks of an op folder as they arrive, in their order.

    `calls` are the only calls to try: arrays by input name, and values of attributes. Otherwise the checks generate
    calls with `arguments`, or raise `LoadError` if hypothesis is not installed. Each check may take `limit` seconds.
    `begun` is called with the name of each check that begins. `is_stopped` is called several times a second, and stops
    everything with a `CancelledError` if it returns true.
    """
    if calls is None:
        _need_hypothesis()
    remaining, given = list(checks), None if calls is None else [dict(each) for each in calls]
    while remaining:
        running, how = remaining[0], ""
        with tempfile.TemporaryDirectory(prefix="pykernels-check-") as scratch:
            # Libraries that compute on several threads cannot be timed while other processes run.
            # Hypothesis must leave nothing in the working directory.
            variables = {**ONE_THREAD, "HYPOTHESIS_STORAGE_DIRECTORY": scratch}
            with ModuleProcess("pykernels.tools.check.runner", variables=variables, leads_group=True) as worker:
                worker.send((folder, remaining, given, arguments or Arguments()))
                for message in worker.messages(limit, is_stopped):
                    if "begins" in message:
                        running = message["begins"]
                        begun(running)
                        continue
                    result = Result(**message)
                    remaining.remove(result.check)
                    yield result
                    if (result.check, result.outcome) == ("definition", FAILED):
                        yield from (Result(result.op, name, SKIPPED, "definition failed") for name in remaining)
                        return
                if remaining:
                    how = worker.how_it_ended(3)
        if remaining:
            remaining.remove(running)
            problem = f"the process that checks {how}"
            yield Result(folder.name, running, FAILED, problem, script=program(folder, running))


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise LoadError(
            "checks draw their calls with hypothesis, which is not installed: python -m pip install 'pykernels[check]'"
        ) from None


def _main(
    request: tuple[Path, Sequence[str], Sequence[Mapping[str, Any]] | None, Arguments],
    report: Callable[[dict[str, Any]], None],
) -> None:
    """Run the checks one after the other; report the beginning and the result of each."""
    folder, checks, given, arguments = request
    # A kernel that runs as Python is not an error.
    warnings.simplefilter("ignore", PykernelsWarning)
    module = open_folder(folder)
    calls, refused = None, None
    if given is not None:
        try:
            calls = [read_sample(module, each) for each in given]
        except PykernelsError as error:
            refused = str(error)
    # Frameworks take long to load, so they load while other checks run.
    hosts = frameworks.start_hosts(folder) if "frameworks" in checks and not refused else {}
    subject = Subject(module, calls, arguments, hosts)
    for name in checks:
        report({"begins": name})
        start = time.perf_counter()
        result = Result(module.name, name, FAILED, refused) if refused else _check(subject, name)
        report(dataclasses.asdict(dataclasses.replace(result, seconds=time.perf_counter() - start)))
        if result.check == "compiled" and result.outcome == PASSED and hosts:
            report({"begins": "frameworks"})
            with contextlib.suppress(Exception):  # that check reports it later
                frameworks.begin(subject)


def _check(subject: Subject, name: str) -> Result:
    op = subject.module.name
    check = importlib.import_module(f"pykernels.tools.check.{CHECKS[name]}").check
    try:
        return Result(op, name, PASSED, check(subject))
    except (Skipped, MissingAttribute) as reason:
        return Result(op, name, SKIPPED, str(reason))
    except Wrong as error:
        problem, sample = str(error), error.sample
    except PykernelsError as error:
        problem, sample = str(error), None
    except Exception as error:
        # An error in the check itself must not pass for a success.
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        problem, sample = f"the check itself failed: {type(error).__name__}: {error} ({place})", None
    return Result(op, name, FAILED, problem, *show(subject.module, name, sample))


if __name__ == "__main__":
    with sending() as send:
        _main(receive(), send)
