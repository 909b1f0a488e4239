from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

# What the shipped ops are tried on, and op folders for tests.
sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("ops", "mxnet")]

_spec = importlib.util.find_spec("torch")
# Without PyTorch there is still this folder, on the path of the tests.
IS_INSTALLED = _spec is not None and _spec.origin is not None


class _Skipped(pytest.Module):
    """A file of tests that is not even imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip("PyTorch is not installed; `make test` runs this in .venv-torch")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if IS_INSTALLED or module_path.parent != Path(__file__).parent:
        return None
    return _Skipped.from_parent(parent, path=module_path)
