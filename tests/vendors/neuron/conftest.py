from __future__ import annotations

from pathlib import Path

import pytest
from only_with import skipped_without


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without("torch", module_path, parent, Path(__file__).parent)
