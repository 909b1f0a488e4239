from __future__ import annotations

from pathlib import Path

import pytest
from torch_only import skipped_without_torch


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without_torch(module_path, parent, Path(__file__).parent)
