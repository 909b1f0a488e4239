"""Fixtures of all tests in which OneFlow runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import pykernels
from pykernels.base import paths

with warnings.catch_warnings():
    # OneFlow 0.8.0 uses names that newer versions of its dependencies have deprecated.
    warnings.simplefilter("ignore")
    import oneflow as flow

from pykernels.frameworks.oneflow.plugin import prepare

__all__ = ["no_failure_left_behind", "shipped", "short_graphs_may_run"]


@pytest.fixture(scope="session", autouse=True)
def short_graphs_may_run() -> None:
    """From the beginning: OneFlow could otherwise crash in a test of its own graphs."""
    prepare()


@pytest.fixture(autouse=True)
def no_failure_left_behind() -> Iterator[None]:
    """A failure that a test has not waited for must not surface in the next one."""
    yield
    flow._oneflow_internal.eager.Sync()


@pytest.fixture(scope="module")
def shipped() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()
