from __future__ import annotations

from collections.abc import Iterator

import mxnet as mx
import pytest
from native_ops import Native

# MXNet keeps the names of ops as long as the process lives.
_NATIVE: dict[str, Native] = {}


@pytest.fixture(scope="session", params=["threads", "engine"])
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    """Ops that run on the threads of MXNet's custom operators, and ops that run inside its engine."""
    if request.param not in _NATIVE:
        made = _NATIVE[request.param] = Native(tmp_path_factory.mktemp(request.param), request.param)
        if request.param == "engine":
            made.registrar.enter_engine()
    return _NATIVE[request.param]


@pytest.fixture(autouse=True)
def no_error_left_behind() -> Iterator[None]:
    """A failure that a test has not waited for must not surface in the next one."""
    yield
    mx.nd.waitall()
