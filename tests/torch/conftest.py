from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pykernels
from pykernels.base import paths

if TYPE_CHECKING:
    from pykernels.frameworks.torch.plugin import TorchOps

# What the shipped ops are tried on.
sys.path.append(str(Path(__file__).parent.parent / "ops"))

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


@pytest.fixture(scope="session", params=["native", "python"])
def road(request: pytest.FixtureRequest) -> str:
    """The library whose ops run through the native registrar, and one whose ops run through Python."""
    return {"native": "pykernels", "python": "pykernels_in_python"}[request.param]


@functools.cache
def _in_python(library: str) -> TorchOps:
    """Enters ops through Python; PyTorch keeps what it has once been told."""
    from pykernels.frameworks.torch import python
    from pykernels.frameworks.torch.plugin import TorchOps

    return TorchOps(library, python.Python)


@pytest.fixture(scope="session")
def enter(road: str) -> Callable[[str], Any]:
    """Gives the operator of a loaded op, entered into the library of the road."""
    import torch

    from pykernels.frameworks.torch.plugin import LIBRARY

    slow = None if road == LIBRARY else _in_python(road)

    def enter_one(name: str) -> Any:
        if slow is not None:
            slow.add(pykernels.list_ops()[name])
        return getattr(getattr(torch.ops, road), name)

    return enter_one


@pytest.fixture(scope="session")
def ops(road: str, enter: Callable[[str], Any]) -> Any:
    """``torch.ops.<library>`` with the shipped ops."""
    import torch

    for name in pykernels.load_ops(paths.OPS):
        enter(name)
    return getattr(torch.ops, road)
