"""bfloat16 tensors: kernels see float32 arrays, and results are rounded once, in every form that a kernel can have."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels.base import dtypes
from pykernels.base.errors import CallError
from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS, PYTHON, WHOLE_ARRAY
from pykernels.kernel.read.source import KernelFunction

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(3)
X = RNG.standard_normal((37, 45)).astype(BFLOAT16)
# Kernels of `x`, the form that each has, and the shapes of its outputs.
KERNELS = {
    "1 / (1 + np.exp(-x))": (ELEMENTWISE, [X.shape]),
    "x / np.sum(np.abs(x), axis=-1, keepdims=True)": (FUSED, [X.shape]),
    # What is read again is not rounded in between.
    "(np.tanh(x), np.sum(np.tanh(x), axis=0), np.max(x))": (FUSED, [X.shape, X.shape[1:], ()]),
    "x[::-1, ::2].T * 3": (FUSED, [(23, 37)]),
    "np.concatenate((x, x * x))": (FUSED, [(74, 45)]),
    "np.sort(x)": (WHOLE_ARRAY, [X.shape]),
    "scaled(x)": (LOOPS, [X.shape]),
    "np.fft.ifft(np.fft.fft(x)).real.astype(x.dtype)": (WHOLE_ARRAY, [X.shape]),
    "(lambda a: exec('a = 1') or a * 3)(x)": (PYTHON, [X.shape]),
}
SCALED = """
def scaled(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * 1.0
    return y
"""


def kernel_with(folder: Path, expression: str) -> KernelFunction:
    """A kernel that returns an expression of `x`."""
    helper = SCALED if "scaled" in expression else ""
    return kernel_of(folder, f"{helper}\ndef forward(args):\n    (x,) = args\n    return {expression}\n")


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("expression", KERNELS)
def test_results_are_rounded_once(tmp_path: Path, expression: str) -> None:
    form, shapes = KERNELS[expression]
    kernel = kernel_with(tmp_path, expression)
    made = [np.full(shape, 7, BFLOAT16) for shape in shapes]
    singles = [np.empty(shape, np.float32) for shape in shapes]
    built, of_singles = build(kernel, [X], made), build(kernel, [X.astype(np.float32)], singles)
    assert (built.facts.form, of_singles.facts.form) == (form, form), built.facts.reason
    assert run(built, [X], made) is None
    assert run(of_singles, [X.astype(np.float32)], singles) is None
    for result, single, by_numpy in zip(made, singles, plain(kernel, [X], made)):
        np.testing.assert_array_equal(result, single.astype(BFLOAT16))
        np.testing.assert_allclose(result.astype(float), by_numpy.astype(float), rtol=2**-8, atol=1e-30)


@pytest.mark.parametrize("body", ["x * 1.0", "scaled(x)"])
def test_every_number_is_rounded_to_nearest_and_to_even(tmp_path: Path, body: str) -> None:
    # All upper halves, with lower ones that are below, at and above the middle.
    upper, lower = np.arange(2**16, dtype=np.uint32) << 16, np.array([0, 0x7FFF, 0x8000, 0x8001], np.uint32)
    x = (upper[:, None] | lower).view(np.float32).ravel()
    kernel = kernel_with(tmp_path, body)
    made = np.empty(x.shape, BFLOAT16)
    assert run(build(kernel, [x], [made]), [x], [made]) is None
    with np.errstate(invalid="ignore"):
        wanted = x.astype(BFLOAT16)
    np.testing.assert_array_equal(np.isnan(made.astype(np.float32)), np.isnan(wanted.astype(np.float32)))
    is_number = ~np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(made.view(np.uint16)[is_number], wanted.view(np.uint16)[is_number])


def test_a_kernel_that_writes_into_its_outputs(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args, outs):\n    outs[0][...] = args[0] + 1\n")
    made = np.empty(X.shape, BFLOAT16)
    assert run(build(kernel, [X], [made]), [X], [made]) is None
    np.testing.assert_array_equal(made, (X.astype(np.float32) + 1).astype(BFLOAT16))
    np.testing.assert_array_equal(made, plain(kernel, [X], [made])[0])


def test_the_dtype_has_a_number_and_a_name() -> None:
    assert dtypes.from_number(dtypes.number_of("bfloat16")) == dtypes.find("bfloat16") == BFLOAT16
    assert dtypes.dtype_name(dtypes.number_of(ml_dtypes.bfloat16)) == "bfloat16"
    with pytest.raises(CallError, match="arrays of dtype float8_e5m2; the dtypes are bfloat16, float16, float32"):
        dtypes.number_of(ml_dtypes.float8_e5m2)
