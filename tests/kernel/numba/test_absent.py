"""Kernels of calls without an optional input: the code for it is left out, whatever form it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import kernel_of, run

from pykernels.kernel.build import build_kernel
from pykernels.kernel.read.signature import Signature, TensorType

BODIES = {
    "unpacked": "x, factor = args; (y,) = outs; y[...] = x\nif factor is not None:\n    y *= factor",
    "with a default": """\
(x, factor), (y,) = args, outs
if factor is None:
    factor = 2 * x
y[...] = np.sort(x) * factor
""",
    "in a loop": """\
x, factor, (y,) = args[0], args[1], outs
for i in range(x.size):
    y[i] = x[i] + 1
    if factor is not None:
        y[i] *= factor[i]
""",
    "in an expression": """\
(x, factor), y = args, outs[0]
for i in range(x.size):
    y[i] = x[i] if factor is None else x[i] * factor[i]
""",
    "by its index": """\
y = outs[0]
y[...] = np.sort(args[0])
if args[1] is not None:
    y *= args[1]
else:
    y += 1
""",
    "in a block": """\
x, factor = args
if x.size > 1:
    y = np.sort(x)
    if factor is not None:
        y = y * factor
else:
    y = x + 1
outs[0][...] = y
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_uses_an_absent_input_is_left_out(tmp_path: Path, name: str) -> None:
    body = "".join(f"    {line}\n" for line in BODIES[name].splitlines())
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n{body}")
    x = np.array([3.0, 1.0, 2.0], np.float32)
    made, wanted = np.empty_like(x), np.empty_like(x)
    kernel.function((x, None), (wanted,))
    type_ = TensorType(x.dtype, 1)
    built = build_kernel(kernel, "op", Signature((type_, None), (type_,)), ["y"], [x.shape, x.shape])
    assert built.facts.form in ("loops", "whole-array") and not built.facts.python_calls, built.facts.reason
    assert run(built, [x], [made]) is None
    np.testing.assert_array_equal(made, wanted)
