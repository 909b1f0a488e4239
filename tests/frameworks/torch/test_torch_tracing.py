"""Kernels on devices for which none is compiled: traced into PyTorch's operators, here on tensors of the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pykernels  # noqa: E402
from pykernels.base import paths  # noqa: E402
from pykernels.base.errors import KernelError  # noqa: E402
from pykernels.base.refusals import RefusedCall  # noqa: E402
from pykernels.call.steps import forward_step, gradient_steps  # noqa: E402
from pykernels.frameworks.torch import plugin, tracing  # noqa: E402
from pykernels.load.samples import sample  # noqa: E402
from pykernels.tools import cli  # noqa: E402

#: The shipped ops whose kernels are array expressions; the others have loops over elements.
TRACED = ["dense", "layer_norm", "leaky_relu", "relu", "sigmoid", "smooth_l1", "tanh", "tensor_negate"]
KERNELS = {
    "powers": "return x**3 + (x * x + 1) ** -0.5 + 2**x + np.float32(3) ** 2 + np.arange(6) ** 2",
    "statistics": "return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)",
    "choice": "return np.where(x > 0, x, np.expm1(x)) * np.clip(x, -1, 1)",
    "parts": "h = x.shape[-1] // 2\n    return np.concatenate((-x[..., h:], x[..., :h]), axis=-1)",
    "transposed": "return np.swapaxes(np.cumsum(np.swapaxes(x, 0, -1), axis=0), 0, -1)",
    "axes": "y = x\n    for axis in range(x.ndim):\n        y = y - y.max(axis=axis, keepdims=True)\n    return y",
    "loop": "y = x.copy()\n    for i in range(x.shape[0]):\n        y[i] = -x[i]\n    return y",
    "unknown": "return x + np.interp(x, x[0], x[0])",
    "wrong shape": "return x[..., :1]",
}


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()


def _run(module: Any, op_type: str, arrays: list[Any], attributes: dict[str, Any], backend: str = "eager") -> list[Any]:
    layout = plugin._ops.layout(module, op_type)
    groups = [[torch.from_numpy(array) for array in group] for group in arrays]
    values = layout.write(groups, attributes, [1] * len(layout.op.outputs), False)
    return layout.unpack(tracing.Tracer(module.kernel(op_type), backend).run(layout, (), values))


@pytest.mark.parametrize("name", TRACED)
def test_traced_ops_give_what_compiled_ones_give_gradients_included(name: str) -> None:
    module = pykernels.list_ops()[name]
    forward = forward_step(module, sample(module, 64, np.dtype(np.float32)))
    for step in (forward, *gradient_steps(module, forward)):
        step.call.run()
        for result, (expected,) in zip(_run(module, step.op.name, step.inputs, step.attributes), step.outputs):
            np.testing.assert_allclose(result.numpy(), expected, rtol=2e-6, atol=2e-6)


def test_ops_with_loops_over_elements_are_refused_with_the_line() -> None:
    for name in pykernels.list_ops().keys() - set(TRACED):
        module = pykernels.list_ops()[name]
        given = sample(module, 64, np.dtype(np.float32))
        with pytest.raises(KernelError, match=rf"{name}_py_kernel.py:\d+: a loop over elements runs on the CPU alone"):
            _run(module, f"{name}_forward", given.inputs, given.attributes)


def _write(folder: Path, body: str) -> None:
    (folder / "shown").mkdir()
    (folder / "shown" / "shown_cpp_def.cpp").write_text(
        '#include "oneflow/core/framework/framework.h"\n\nREGISTER_USER_OP("shown_forward")\n'
        '    .Input("x", "floating[...]")\n    .Output("y", "floating[...]");\n'
    )
    kernel = f"import numpy as np\n\n\ndef forward(args):\n    (x,) = args\n    {body}\n"
    (folder / "shown" / "shown_py_kernel.py").write_text(kernel)
    (folder / "shown" / "shown_py_api.py").write_text("")


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    def load(body: str) -> Any:
        _write(tmp_path, body)
        return pykernels.load_ops(tmp_path)["shown"]

    yield load
    pykernels.unload_ops("shown")


@pytest.mark.parametrize("name", KERNELS)
def test_forms_of_kernels(name: str, shown: Callable[[str], Any]) -> None:
    module = shown(KERNELS[name])
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    messages = {
        "loop": "shown_py_kernel.py:7: a loop over elements runs on the CPU alone",
        "unknown": "shown_py_kernel.py:6: the kernel runs on the CPU, but PyTorch cannot trace it for other devices",
        "wrong shape": "shown_py_kernel.py:4: forward returns (4, 1) for 'y', but the definition infers (4, 6)",
    }
    if name in messages:
        with pytest.raises(KernelError, match=re.escape(messages[name])):
            _run(module, "shown_forward", [[x]], {})
        return
    (result,) = _run(module, "shown_forward", [[x]], {})
    np.testing.assert_allclose(result.numpy(), module.kernel("shown_forward").function((x,)), rtol=1e-5, atol=1e-5)


def test_half_precision_is_computed_in_float32() -> None:
    x = np.linspace(-8, 8, 1001).astype(np.float16)
    (result,) = _run(pykernels.list_ops()["sigmoid"], "sigmoid_forward", [[x]], {})
    np.testing.assert_array_equal(result.numpy(), (1 / (1 + np.exp(-x.astype(np.float32)))).astype(np.float16))


def test_a_call_is_prepared_once_for_its_shapes() -> None:
    module = pykernels.list_ops()["tanh"]
    layout = plugin._ops.layout(module, "tanh_forward")
    tracer = tracing.Tracer(module.kernel("tanh_forward"), "eager")
    for shape in [(3,), (4,), (3,), (2, 3)]:
        x = torch.randn(shape)
        torch.testing.assert_close(tracer.run(layout, (x,), {}), torch.tanh(x))
    assert len(tracer._prepared) == 3
    assert len(tracer._compiled) == 2


def test_tensors_of_several_devices_are_refused() -> None:
    module = pykernels.list_ops()["dense"]
    layout = plugin._ops.layout(module, "dense_forward")
    tracer = tracing.Tracer(module.kernel("dense_forward"), "eager")
    with pytest.raises(RefusedCall, match="'weight' is on the device meta, but 'data' on cpu"):
        tracer.run(layout, (torch.ones(2, 3), torch.ones(4, 3, device="meta")), {})


def test_every_device_without_compiled_kernels_has_the_traced_one() -> None:
    operator = torch.ops.pykernels.sigmoid
    for op_type in ("pykernels::sigmoid", "pykernels::sigmoid_backward"):
        operator, registered = getattr(torch.ops.pykernels, op_type.partition("::")[2]), torch._C
        assert operator is not None
        for device in (*tracing.DEVICES, "AutocastCUDA"):
            assert registered._dispatch_has_kernel_for_dispatch_key(op_type, device)


@pytest.mark.thorough
def test_the_default_backend_compiles_gradients_too() -> None:
    module = pykernels.list_ops()["layer_norm"]
    forward = forward_step(module, sample(module, 64, np.dtype(np.float32)))
    (backward,) = gradient_steps(module, forward)
    backward.call.run()
    results = _run(module, backward.op.name, backward.inputs, backward.attributes, "inductor")
    for result, (expected,) in zip(results, backward.outputs):
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_explain_says_whether_a_kernel_is_traced(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "sigmoid", "softmax", "--device", "cuda"]) == 0
    printed = capsys.readouterr().out
    sigmoid, softmax = printed.split("softmax forward")
    for framework in ("PyTorch", "JAX"):
        assert (
            len(re.findall(rf"{framework}, cuda +traced into its operations, which its compiler fuses", sigmoid)) == 2
        )
        assert re.search(
            rf"{framework}, cuda +not: .*softmax_py_kernel.py:\d+: a loop over elements runs on the", softmax
        )
