"""A kernel whose machine code fails where plain NumPy does not gives NumPy's result, with one warning."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

from pykernels import PykernelsWarning
from pykernels.base.settings import require_compiled
from pykernels.kernel.build import BuiltKernel
from pykernels.kernel.facts import PYTHON, WHOLE_ARRAY

X = np.random.default_rng(2).standard_normal((3, 5))
# Of a single variable, the covariance has no axes in NumPy, and two in machine code.
BODY = "(x,) = args\n    return np.cov(x) + np.zeros((1, 1))"


def of_covariances(folder: Path) -> BuiltKernel:
    built = build(kernel_of(folder, f"def forward(args):\n    {BODY}\n"), [X], [np.zeros((3, 3))])
    assert built.facts.form == WHOLE_ARRAY
    return built


def test_numpys_result_takes_the_place_of_an_error(tmp_path: Path) -> None:
    built, one = of_covariances(tmp_path), np.zeros((1, 1))
    with pytest.warns(PykernelsWarning, match="does not raise .* Such calls run as Python, too, which is slower"):
        assert run(built, [X[:1]], [one]) is None
    np.testing.assert_allclose(one, np.var(X[:1], ddof=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert run(built, [X[1:2]], [one]) is None
    np.testing.assert_allclose(one, np.var(X[1:2], ddof=1))
    many = np.zeros((3, 3))
    assert run(built, [X], [many]) is None
    np.testing.assert_allclose(many, np.cov(X))


def test_the_error_stays_where_python_is_forbidden_or_inputs_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYKERNELS_REQUIRE_COMPILED", "0")  # restored afterwards
    built, one = of_covariances(tmp_path), np.zeros((1, 1))
    require_compiled()
    assert "does not raise" in str(run(built, [X[:1]], [one]))
    require_compiled(False)
    tensors = tuple(replace(tensor, mutable=True) for tensor in built.signature.inputs)
    built.signature = replace(built.signature, inputs=tensors)
    assert "does not raise" in str(run(built, [X[:1]], [one]))


@pytest.mark.parametrize("function", ["np.cov", "np.corrcoef"])
def test_a_number_of_axes_that_depends_on_lengths_runs_as_python(tmp_path: Path, function: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    return {function}(x[:1])\n")
    out = np.zeros(())
    with pytest.warns(PykernelsWarning, match="returned 2 dimensions for output 'y', but the definition infers 0"):
        built = build(kernel, [X], [out])
    assert built.facts.form == PYTHON and run(built, [X], [out]) is None
    np.testing.assert_allclose(out, getattr(np, function[3:])(X[:1]))
