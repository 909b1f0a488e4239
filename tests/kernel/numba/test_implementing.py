"""Implementations of NumPy functions for kernels that numba compiles: what they are given, and may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, run

pytestmark = pytest.mark.usefixtures("new_cache")

GIVEN: list[Any] = []
X = np.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True, scope="module")
def _implemented() -> None:
    from pykernels.kernel.numba.implementing import implements, require_known

    # No kernel calls it.
    @implements(np.busday_offset, method="example")
    def typed(x: Any, axis: Any = None, dtype: Any = None, *rest: Any) -> Any:
        require_known(axis, "the result's type")
        GIVEN[:] = [axis, dtype, *rest]
        factor = sum(np.atleast_1d(axis)) / 10
        return lambda x: x * factor


def compute(folder: Path, body: str, numbers: Mapping[str, Any] = {}, constants: Mapping[str, Any] = {}) -> np.ndarray:
    keywords = "".join(f", {name}" for name in (*numbers, *constants))
    text = f"def forward(args{', *' * bool(keywords)}{keywords}):\n    x, = args\n    return {body}\n"
    kernel = kernel_of(folder, text)
    y = np.empty_like(X)
    built = build(kernel, [X], [y], numbers, constants)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, [X], [y], {name: numbers[name] for name, _ in built.signature.scalars}) is None
    return y


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("np.busday_offset(x, 1, np.float32)", [1, np.dtype("float32")]),
        ("np.busday_offset(x, dtype=bool, axis=(-1, 2))", [(-1, 2), np.dtype(bool)]),
        ("x.example(axis=(0, 3), dtype='f4')", [(0, 3), "f4"]),
        ("np.busday_offset(x, 1, None, True, ((1, 2), 3))", [1, None, True, ((1, 2), 3)]),
    ],
)
def test_values_that_are_known(tmp_path: Path, body: str, given: list[Any]) -> None:
    np.testing.assert_array_equal(compute(tmp_path, body), X * (sum(np.atleast_1d(given[0])) / 10))
    assert given == GIVEN


def test_values_of_attributes(tmp_path: Path) -> None:
    np.testing.assert_array_equal(compute(tmp_path, "np.busday_offset(x, axis)", {"axis": 3}), X * 0.3)
    np.testing.assert_array_equal(compute(tmp_path, "np.busday_offset(x, axes)", {}, {"axes": (3, 4)}), X * 0.7)


def test_a_value_that_is_not_known(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    x, = args\n    return np.busday_offset(x, len(x))\n")
    with pytest.warns(match="the result's type depends on values that are known at run time only"):
        build(kernel, [X], [np.empty_like(X)])
