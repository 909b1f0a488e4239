"""Kernels on devices for which none is compiled: traced into JAX's operations, here on arrays of the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pykernels
from pykernels.base.errors import KernelError
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.frameworks.jax import placement, table
from pykernels.frameworks.jax.use import use_of
from pykernels.load.samples import sample

pytestmark = pytest.mark.usefixtures("ops")
#: The shipped ops whose kernels are array expressions; the others have loops over elements.
TRACED = ["dense", "layer_norm", "leaky_relu", "relu", "sigmoid", "smooth_l1", "tanh", "tensor_negate"]
KERNELS = {
    "statistics": "return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)",
    "helper": "return helper(x) + exp(x)",
    "outputs": "y, = outs\n    y[...] = 1\n    y[:, 1:] -= x[:, 1:]\n    np.multiply(y, 2, out=y)",
    "loop": "y = x.copy()\n    for i in range(x.shape[0]):\n        y[i] = -x[i]\n    return y",
    "elements": "y = x * 2\n    y[0] = 1\n    return y",
    "input": "x[0] = 1\n    return x",
    "unknown": "return np.asarray(x.tolist())",
    "wrong shape": "return x[..., :1]",
}
MESSAGES = {
    "loop": "shown_py_kernel.py:12: a loop over elements runs on the CPU alone",
    "input": "shown_py_kernel.py:9: forward writes to its input 'x'. Inputs belong to the framework",
    "unknown": "shown_py_kernel.py:11: JAX cannot trace the kernel",
    "wrong shape": "shown_py_kernel.py:9: forward returns arrays of the shapes (4, 1), but the definition infers",
}


def run(op_type: str, inputs: list[Any], attributes: dict[str, Any]) -> list[Any]:
    op = table.find(op_type).op
    use = use_of(op, inputs, attributes, [1] * len(op.outputs))
    arrays = [array for group in inputs for array in group]
    return list(jax.jit(lambda *given: placement.run_traced(*given, use=use))(*arrays))


@pytest.mark.parametrize("name", TRACED)
def test_traced_ops_give_what_compiled_ones_give_gradients_included(name: str) -> None:
    module = pykernels.list_ops()[name]
    forward = forward_step(module, sample(module, 64, np.dtype(np.float32)))
    for step in (forward, *gradient_steps(module, forward)):
        step.call.run()
        for result, (expected,) in zip(run(step.op.name, step.inputs, step.attributes), step.outputs, strict=True):
            np.testing.assert_allclose(result, expected, rtol=2e-6, atol=2e-6)


def test_ops_with_loops_over_elements_are_refused_with_the_line() -> None:
    for name in pykernels.list_ops().keys() - set(TRACED):
        given = sample(pykernels.list_ops()[name], 64, np.dtype(np.float32))
        with pytest.raises(KernelError, match=rf"{name}_py_kernel.py:\d+: a loop over elements runs on the CPU alone"):
            run(f"{name}_forward", given.inputs, given.attributes)


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    def load(body: str) -> Any:
        folder = tmp_path / "shown"
        folder.mkdir()
        (folder / "shown_cpp_def.cpp").write_text(
            '#include "oneflow/core/framework/framework.h"\n\nREGISTER_USER_OP("shown_forward")\n'
            '    .Input("x", "floating[...]")\n    .Output("y", "floating[...]");\n'
        )
        (folder / "shown_py_kernel.py").write_text(
            "import numpy as np\nfrom numpy import exp\n\n\ndef helper(x):\n    return np.tanh(x)\n\n\n"
            f"def forward(args{', outs' if 'outs' in body else ''}):\n    (x,) = args\n    {body}\n"
        )
        (folder / "shown_py_api.py").write_text("")
        return pykernels.load_ops(tmp_path)["shown"]

    yield load
    pykernels.unload_ops("shown")


@pytest.mark.parametrize("name", KERNELS)
def test_forms_of_kernels(name: str, shown: Callable[[str], Any]) -> None:
    module = shown(KERNELS[name])
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    if name in MESSAGES:
        with pytest.raises(KernelError, match=re.escape(MESSAGES[name])):
            run("shown_forward", [[x]], {})
        return
    (result,) = run("shown_forward", [[x]], {})
    kernel, y = module.kernel("shown_forward"), np.empty_like(x)
    expected = (kernel.function((x,), (y,)), y)[1] if kernel.takes_outs else kernel.function((x,))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_half_precision_is_computed_in_float32() -> None:
    x = np.linspace(-8, 8, 1001).astype(np.float16)
    (result,) = run("sigmoid_forward", [[x]], {})
    np.testing.assert_array_equal(result, (1 / (1 + np.exp(-x.astype(np.float32)))).astype(np.float16))


def test_programs_for_other_devices_hold_the_traced_kernel() -> None:
    traced = jax.jit(pykernels.list_ops()["sigmoid"].api.sigmoid).trace(jax.ShapeDtypeStruct((3,), np.float32))
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "custom_call" not in text and "exponential" in text
