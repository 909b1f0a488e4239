"""Ops of complex numbers: checks pass for right ones, and find gradients that lack a conjugate."""

from __future__ import annotations

import re
from pathlib import Path

import complex_ops
import pytest
from planted import assert_passes, failure, outcomes

from pykernels.tools.check.findings import PASSED

CHECKS = ("definition", "dtypes", "compiled", "gradient")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return complex_ops.write_ops(tmp_path)


def test_right_ops_pass(folder: Path) -> None:
    assert_passes(folder / "polar", *CHECKS)
    found = outcomes(folder / "mixed", *CHECKS, "frameworks", is_apart=True)
    assert {each.outcome for each in found.values()} == {PASSED}
    assert found["dtypes"].message == "complex64, complex128"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("times", "dy * np.conj(a)", "dy * a"),
        ("size", "dy * x / y", "dy * np.conj(x) / y"),
        ("mixed", "2j * np.conj(dy)", "2j * dy"),
    ],
)
def test_a_gradient_that_lacks_a_conjugate(folder: Path, name: str, old: str, new: str) -> None:
    kernel = folder / name / f"{name}_py_kernel.py"
    assert old in kernel.read_text()
    kernel.write_text(kernel.read_text().replace(old, new))
    message = failure(folder / name, "gradient").message
    assert re.search(r"the gradient of [xb]\S*\.(real|imag) is .*, but finite differences give", message), message


def test_tangents(folder: Path) -> None:
    definition = (
        '#include "oneflow/core/framework/framework.h"\nREGISTER_USER_OP("sized_forward").Input("x", "complex[n]")'
    )
    definition += '.Output("y", "complex[n]").Backward("x, dy -> dx").Tangent("x, tx -> ty");\n'
    kernel = """
import numpy as np

def forward(args):
    return args[0] * np.abs(args[0])

def backward(args):
    x, dy = args
    return dy * np.abs(x) + np.real(np.conj(x) * dy) * x / np.abs(x)

def tangent(args):
    x, tx = args
    return tx * np.abs(x) + np.real(np.conj(x) * tx) * x / np.abs(x)
"""
    made = folder / "sized"
    made.mkdir()
    (made / "sized_cpp_def.cpp").write_text(definition)
    (made / "sized_py_kernel.py").write_text(kernel)
    (made / "sized_py_api.py").write_text(complex_ops.API.format(name="sized", inputs='"x"'))
    assert_passes(made, "gradient", "forward-mode")
    (made / "sized_py_kernel.py").write_text(kernel.replace("return tx *", "return np.conj(tx) *"))
    assert "ty[" in failure(made, "forward-mode").message
