from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from only_with import skipped_without

import pykernels
from pykernels.base import paths

if TYPE_CHECKING:
    from pykernels.frameworks.torch.plugin import TorchOps


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without("torch", module_path, parent, Path(__file__).parent)


@pytest.fixture(scope="session", params=["native", "python"])
def backend(request: pytest.FixtureRequest) -> str:
    """The library whose ops run through the native registrar, and one whose ops run through Python."""
    return {"native": "pykernels", "python": "pykernels_in_python"}[request.param]


@functools.cache
def _in_python(library: str) -> TorchOps:
    """Enters ops through Python; PyTorch keeps what it has once been told."""
    from pykernels.frameworks.torch import python
    from pykernels.frameworks.torch.plugin import TorchOps

    return TorchOps(library, python.Python)


@pytest.fixture(scope="session")
def enter(backend: str) -> Callable[[str], Any]:
    """Gives the operator of a loaded op, entered into the library of the backend."""
    import torch

    from pykernels.frameworks.torch.plugin import LIBRARY

    slow = None if backend == LIBRARY else _in_python(backend)

    def enter_one(name: str) -> Any:
        if slow is not None:
            slow.add(pykernels.list_ops()[name])
        return getattr(getattr(torch.ops, backend), name)

    return enter_one


@pytest.fixture(scope="session")
def ops(backend: str, enter: Callable[[str], Any]) -> Any:
    """``torch.ops.<library>`` with the shipped ops."""
    import torch

    for name in pykernels.load_ops(paths.OPS):
        enter(name)
    return getattr(torch.ops, backend)
