"""The registrar is built once for an installed OneFlow, and only for one that it knows."""

from __future__ import annotations

import importlib.metadata

import pytest

from pykernels.base.errors import LoadError
from pykernels.frameworks.registrar_libraries import build_library


def test_it_is_built_once() -> None:
    library = build_library("oneflow").path
    built = library.stat().st_mtime_ns
    assert build_library("oneflow").path == library
    assert library.stat().st_mtime_ns == built


@pytest.mark.parametrize("version", ["0.7.0", "0.10.0", "1.0.0"])
def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    with pytest.raises(LoadError, match=f"into OneFlow 0.8 and 0.9, not {version}: pip install oneflow==0.8.0"):
        build_library("oneflow")
