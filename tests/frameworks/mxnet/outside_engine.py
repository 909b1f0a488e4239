"""A plugin for pytest: ops run on the threads of MXNet's custom operators, as they do where its binary is not known."""

from __future__ import annotations

import pytest

from pykernels import LoadError
from pykernels.frameworks.mxnet.registrar import Registrar

REASON = "kept outside the engine"


def refuse(registrar: Registrar) -> None:
    raise LoadError(REASON)


def pytest_configure(config: pytest.Config) -> None:
    Registrar.enter_engine = refuse
    config.addinivalue_line("filterwarnings", f"ignore:{REASON}:pykernels.PykernelsWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "convolutions" in item.name:
            item.add_marker(pytest.mark.skip(reason="MXNet frees what MKLDNN has converted before it is read"))
