"""Large arrays are left to NumPy where it is faster than what numba compiles, and `explain` says so."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels.tools.commands.explain import _lines


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "what", "elements"),
    [
        ("return np.partition(x, 7)[7:8]", "", 0),
        ("return np.flatnonzero(np.flip(x) > 0)", "5: flatnonzero", 1 << 18),
        ("return np.stack((np.sort(x), x))", "", 0),
        ("return np.where(x > 0)[0]", "5: where", 1 << 18),
        ("return np.take(m, k, axis=0)", "", 0),
        ("y = x.copy()\n    y[1:] += x[:-1]\n    return y", "", 0),
        ("return np.pad(x, 1)", "", 0),
        ("return np.take(x, k)", "", 0),
        ("y = x.copy()\n    y[:] = x[k]\n    return y", "", 0),
        ("return np.argmax(x)", "", 0),
        ("return np.argsort(x)", "", 0),
    ],
)
def test_what_is_left_to_numpy(tmp_path: Path, body: str, what: str, elements: int) -> None:
    x, m, k = np.linspace(-1, 1, 60, dtype=np.float32), np.ones((30, 2), np.float32), np.arange(30)
    k = np.arange(60) if "x[k]" in body else k
    kernel = kernel_of(tmp_path, f"def forward(args):\n    x, m, k = args\n    {body}\n")
    wanted = np.asarray(kernel.function((x, m, k)))
    made = np.full(wanted.shape, 7, wanted.dtype)
    built = build(kernel, [x, m, k], [made])
    assert built.facts.form == "whole-array"
    assert (built.facts.slower, built.facts.slower_from) == (what and f"op_py_kernel.py:{what}", elements)
    assert run(built, [x, m, k], [made]) is None
    np.testing.assert_array_equal(made, wanted)
    told = dict(_lines(kernel, built.facts)).get("large arrays")
    wanted_text = f"run as Python from {elements:,} elements, which is faster: op_py_kernel.py:{what}"
    assert told == (wanted_text if what else None)


def test_arrays_from_the_given_size_on_are_left(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return np.flatnonzero(args[0])[::-1]\n")
    x = np.ones(1 << 18, np.float32)
    built = build(kernel, [x], [np.empty(x.shape, np.intp)])
    calls: list[str] = []
    for given in (x[:-1].copy(), x):
        made = np.empty(given.shape, np.intp)
        sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name))
        try:
            assert run(built, [given], [made]) is None
        finally:
            sys.setprofile(None)
        np.testing.assert_array_equal(made, np.arange(given.size)[::-1])
        assert ("forward" in calls) == (given is x)
