from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """The tests build into a cache of their own, which later runs find again."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYKERNELS_CACHE" not in os.environ:
            patch.setenv("PYKERNELS_CACHE", str(request.config.cache.mkdir("pykernels")))
        yield
