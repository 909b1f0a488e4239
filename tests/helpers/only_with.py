"""Folders of tests that need a framework."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def is_installed(package: str) -> bool:
    """Whether a package is installed; a folder of tests of that name may be on the path, but has no file of its own."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


class _Skipped(pytest.Module):
    """A file of tests that is not even imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip("its framework is not installed; `make test` runs this in .venv-torch")


def skipped_without(package: str, path: Path, parent: pytest.Collector, folder: Path) -> pytest.Module | None:
    """Return a module that skips the tests of `path`, a file of `folder`; None where the package is installed."""
    if is_installed(package) or path.parent != folder:
        return None
    return _Skipped.from_parent(parent, path=path)
