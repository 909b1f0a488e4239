"""Kernels that would take long to compile take another form, which is as right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels.base.errors import PykernelsWarning


@pytest.mark.parametrize(
    ("line", "lines", "told"),
    [
        (
            "y[:] = y * x[0] + x[1]",
            700,
            r"forward is long: \d,\d+ instructions of Python, and at most 4,000 are compiled",
        ),
        pytest.param(
            "y[:] = np.flip(y, 0) + x",
            200,
            r"it is long: \d+,\d+ instructions of LLVM, and at most 60,000 are compiled",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_long_kernels_run_as_python(tmp_path: Path, line: str, lines: int, told: str) -> None:
    body = "\n    ".join([line] * lines)
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    y[:] = 1\n    {body}\n")
    inputs, outputs = [np.full(3, 0.5, np.float32)], [np.empty(3, np.float32)]
    with pytest.warns(PykernelsWarning, match=told):
        built = build(kernel, inputs, outputs)
    assert built.facts.form == "Python"
    assert run(built, inputs, outputs) is None
    np.testing.assert_array_equal(outputs[0], plain(kernel, inputs, outputs)[0])


def test_functions_that_multiply_are_not_written_out(tmp_path: Path) -> None:
    # 2**20 additions, if each call were one of its own.
    helpers = "".join(f"\ndef f{at}(x):\n    return f{at - 1}(x) + f{at - 1}(x)\n" for at in range(1, 21))
    kernel = kernel_of(tmp_path, f"def f0(x):\n    return x\n{helpers}\ndef forward(args):\n    return f20(args[0])\n")
    inputs, outputs = [np.full(3, 0.5, np.float32)], [np.empty(3, np.float32)]
    built = build(kernel, inputs, outputs)
    assert "there are more than 10,000 expressions" in built.facts.reason
    assert run(built, inputs, outputs) is None
    np.testing.assert_array_equal(outputs[0], np.full(3, 2**19, np.float32))
