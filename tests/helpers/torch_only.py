"""Folders of tests that need PyTorch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.find_spec("torch")
# A folder of that name may be on the path of the tests; it has no file of its own.
IS_INSTALLED = _spec is not None and _spec.origin is not None


class _Skipped(pytest.Module):
    """A file of tests that is not even imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip("PyTorch is not installed; `make test` runs this in .venv-torch")


def skipped_without_torch(path: Path, parent: pytest.Collector, folder: Path) -> pytest.Module | None:
    """Return a module that skips the tests of `path`, a file of `folder`; None where PyTorch is installed."""
    if IS_INSTALLED or path.parent != folder:
        return None
    return _Skipped.from_parent(parent, path=path)
