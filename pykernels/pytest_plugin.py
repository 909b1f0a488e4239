"""Plugin for pytest: ``pytest --pykernels ops/`` checks the op folders that it finds, with one test per check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_KERNEL = "_py_kernel.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options."""
    group = parser.getgroup("pykernels", "ops")
    group.addoption("--pykernels", action="store_true", help="check the op folders in the given paths")
    group.addoption(
        "--pykernels-checks",
        metavar="CHECK,...",
        default="",
        help="checks to run, separated by commas (default: all)",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the checks of an op folder when pytest visits its kernel file."""
    if parent.config.getoption("--pykernels") and file_path.name == file_path.parent.name + _KERNEL:
        return _OpFile.from_parent(parent, path=file_path)
    return None


class _Failed(Exception):
    """The failure that a check reports."""


class _OpFile(pytest.File):
    """An op folder, collected by its kernel file."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._results: dict[str, Any] | None = None

    def collect(self) -> Iterator[_CheckItem]:
        """Yield one test per check."""
        from pykernels.base.errors import CallError
        from pykernels.tools.check import runner

        given = self.config.getoption("--pykernels-checks")
        try:
            names = runner.choose([name for name in given.split(",") if name])
        except CallError as error:
            raise pytest.UsageError(f"--pykernels-checks: {error}") from error
        for name in names:
            yield _CheckItem.from_parent(self, name=name)

    def results(self) -> dict[str, Any]:
        """Return the results by check name; the first call runs all the selected checks."""
        if self._results is None:
            from pykernels.tools.check import runner

            names = [item.name for item in self.session.items if item.parent is self]
            self._results = {each.check: each for each in runner.run_checks(self.path.parent, names)}
        return self._results


class _CheckItem(pytest.Item):
    """One check of an op."""

    def runtest(self) -> None:
        """Skip or fail as the check did."""
        from pykernels.tools.check import findings

        assert isinstance(self.parent, _OpFile)
        result = self.parent.results()[self.name]
        if result.outcome == findings.SKIPPED:
            pytest.skip(result.message)
        if result.outcome == findings.FAILED:
            raise _Failed(findings.describe(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message alone, since a traceback through this file would not help."""
        return str(excinfo.value) if isinstance(excinfo.value, _Failed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the headline of a failure."""
        return self.path, None, f"{self.path.parent.name}: {self.name}"
