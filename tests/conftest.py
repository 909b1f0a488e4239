from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from folders import write_op

import pykernels
import pykernels.compat.mxnet
from pykernels.build import cache

pytest_plugins = ["quick"]

# Threads that have nothing to do leave the processors to the tests beside them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_collection_finish() -> None:
    """Have garbage collections pass over what lives as long as the process: the tests, and what they import."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """The tests build into a cache of their own, which later runs find again."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYKERNELS_CACHE" not in os.environ:
            patch.setenv("PYKERNELS_CACHE", str(request.config.cache.mkdir("pykernels")))
        # Where nothing can be written to a home directory, matplotlib says so.
        patch.setenv("MPLCONFIGDIR", str(Path(os.environ["PYKERNELS_CACHE"], "matplotlib")))
        yield


@pytest.fixture
def new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, which has nothing but the runtime that kernels are linked with."""
    runtime, folder = cache.directory() / "runtime", tmp_path / "cache"
    for each in (runtime, folder):
        each.mkdir(parents=True, exist_ok=True)
    (folder / "runtime").symlink_to(runtime)
    monkeypatch.setenv("PYKERNELS_CACHE", str(folder))
    return folder


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Loads a folder with a kernel and gives the name of its op."""
    names: list[str] = []

    def load_one(kernel: str, **definition: str) -> str:
        names.append(f"op_{tmp_path.name}_{len(names)}".replace("-", "_").replace("[", "_").replace("]", "_"))
        pykernels.load_ops(write_op(tmp_path, names[-1], kernel, **definition))
        return names[-1]

    yield load_one
    pykernels.unload_ops(*names)


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """Let each test draw the same numbers from the `RNG` of its module, in whatever order the tests run."""
    generator = getattr(getattr(request.node, "module", None), "RNG", None)
    if generator is not None:
        generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
