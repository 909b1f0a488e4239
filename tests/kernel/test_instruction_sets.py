"""Kernels made for older processors than the one at hand, as those of libraries are: the same results as NumPy's."""

from __future__ import annotations

import uuid
import warnings
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels.build.processor import compiling_for
from pykernels.kernel.emit import target
from pykernels.kernel.facts import ELEMENTWISE, FUSED, LOOPS

SETS = {"x86-64-v3": "avx2", "x86-64-v2": "sse4.2"}
KERNELS = {
    "activation": (ELEMENTWISE, "return np.tanh(x) / 7 + np.log1p(np.exp(-abs(x))) + np.where(x > 0, x, np.expm1(x))"),
    "softmax": (FUSED, "e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)"),
    "normalised": (
        FUSED,
        "z = x - x.mean(axis=0)\n    return z / np.sqrt((z * z).mean(axis=0) + 0.001) + np.log(1 + x * x).sum()",
    ),
    "parts": (FUSED, "return x - x[:, 1:2] + (x > x.mean()).any(axis=1, keepdims=True) * x.min(axis=0)"),
    "running": (
        LOOPS,
        """y = np.empty_like(x)
    for i in range(x.shape[0]):
        total = np.float64(0)
        for k in range(x.shape[1]):
            total += np.exp(-x[i, k] * x[i, k])
        for k in range(x.shape[1]):
            y[i, k] = total - x[i, k]
    return y""",
    ),
}
DIGITS = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture(params=SETS)
def processor(request: pytest.FixtureRequest) -> str:
    with compiling_for("native"):
        own = target.instruction_set().name
    order = ["sse4.2", "avx2", "avx512"]
    if own not in order or order.index(own) < order.index(SETS[request.param]):
        pytest.skip(f"this processor, with {own}, cannot run code for {request.param}")
    return str(request.param)


@pytest.mark.parametrize("fast_math", [False, True], ids=["", "fast_math"])
@pytest.mark.parametrize("name", KERNELS)
def test_values(tmp_path: Path, processor: str, name: str, fast_math: bool) -> None:
    form, body = KERNELS[name]
    head = "FAST_MATH = True\n" if fast_math else ""
    kernel = kernel_of(tmp_path, f"{head}def forward(args):\n    (x,) = args\n    {body}\n")
    for dtype in DIGITS if processor == "x86-64-v3" else ["float32"]:
        # Whole vectors and rests of them, few columns and many, a single one.
        for shape in [(9, 301), (300, 3), (5, 2)]:
            x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
            y = np.zeros_like(x)
            with compiling_for(processor), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                built = build(kernel, [x], [y])
                assert run(built, [x], [y]) is None
                (wanted,) = plain(kernel, [x], [y])
            assert (built.facts.form, built.facts.instruction_set) == (form, SETS[processor]), built.facts.reason
            assert built.facts.fast_math == fast_math
            np.testing.assert_allclose(y, wanted, rtol=DIGITS[dtype], atol=4 * DIGITS[dtype])


def test_a_product_and_a_sum_are_rounded_once_where_the_processor_can(tmp_path: Path, processor: str) -> None:
    text = f"# {uuid.uuid4()}\nFAST_MATH = True\ndef forward(args):\n    (x,) = args\n    return x * x - 1\n"
    x = np.full(300, 1 + 2**-12, np.float32)
    y = np.zeros_like(x)
    with compiling_for(processor):
        has_fma = target.instruction_set().has_fma
        assert run(build(kernel_of(tmp_path, text), [x], [y]), [x], [y]) is None
    # The last bit of the square does not fit float32.
    assert (y == np.float32(2**-11 + (2**-24 if has_fma else 0))).all()
    assert has_fma == (processor == "x86-64-v3")
