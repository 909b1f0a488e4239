from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from only_with import is_installed, skipped_without

import pykernels
from pykernels.base import paths

if is_installed("jax"):
    import jax

    # Devices to share the work, before JAX starts.
    jax.config.update("jax_num_cpu_devices", 4)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without("jax", module_path, parent, Path(__file__).parent)


@pytest.fixture(scope="module")
def ops() -> Iterator[dict[str, pykernels.OpModule]]:
    """The shipped ops."""
    yield pykernels.load_ops(paths.OPS)
    pykernels.unload_ops()
