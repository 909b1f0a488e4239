"""Ops without outputs, which write into an input: from C++ and Python definitions, in every framework."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import write_op
from only_with import is_installed
from process import python

import pykernels
from pykernels.base.errors import DefinitionError, KernelError, PykernelsWarning
from pykernels.frameworks.installed import is_usable

CPP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("add_into_forward")
    .Input("x", "floating[...]")
    .Input("y", "floating[...]")
    .Input("total", "floating[...]")
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("total", 0)->set_is_mutable(true);
    });
}  // namespace oneflow
"""
PYTHON = """
    import pykernels


    class AddInto(pykernels.CustomOpProp):
        arguments, outputs, auxiliary_states = ("x", "y"), (), ("total",)

        def infer_shape(self, in_shape):
            return in_shape, [], in_shape[:1]
"""
KERNEL = "def forward(args):\n    x, y, total = args\n    total[...] = x + y\n"
KERNELS = {
    "whole arrays": KERNEL,
    "a loop": "def forward(args):\n    x, y, total = args\n    for i in range(3):\n        total[i] = x[i] + y[i]\n",
    "outs": "def forward(args, outs):\n    x, y, total = args\n    total[:] = x + y\n",
    "Python": "def forward(args):\n    x, y, total = args\n    total[...] = eval('x + y')\n",
}


@pytest.fixture
def add_into(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Writes and loads the op."""

    def load(kernel: str = KERNEL, definition: str = PYTHON) -> Any:
        folder = write_op(tmp_path, "add_into", kernel, definition)
        if definition is CPP:
            (folder / "add_into_py_def.py").unlink()
            (folder / "add_into_cpp_def.cpp").write_text(definition)
        call = 'pykernels.user_op_builder("a").Op("add_into_forward").Function("x", "y", "total")'
        (folder / "add_into_py_api.py").write_text(f"import pykernels\n\nadd_into = {call}\n")
        return pykernels.load_ops(folder)["add_into"]

    yield load
    pykernels.unload_ops(*pykernels.list_ops().keys() & {"add_into"})


def arrays(dtype: str = "float32") -> list[np.ndarray]:
    return [np.arange(3, dtype=dtype), np.ones(3, dtype), np.zeros(3, dtype)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_on_arrays(add_into: Callable[..., Any], kernel: str) -> None:
    module = add_into(KERNELS[kernel])
    assert module.forward.schema() == "add_into_forward(x, y, total!) -> ()"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PykernelsWarning)
        for dtype in ("float32", "float16"):
            x, y, total = arrays(dtype)
            for factor in (1, 2):  # the second call runs no Python
                assert module.api.add_into(x * factor, y, total) is None
                assert total.tolist() == [1, 1 + factor, 1 + 2 * factor]


def test_a_definition_in_cpp(add_into: Callable[..., Any]) -> None:
    x, y, total = arrays()
    add_into(definition=CPP).api.add_into(x, y, total)
    assert total.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "return x + y",
            "forward returned a ndarray, but the op has no outputs: write into the inputs that it changes",
        ),
        (
            "for i in prange(3):\n        total[i] = x[i]",
            "loops over prange, .* but the op has no outputs. Write range",
        ),
    ],
)
def test_kernels_that_cannot_be(add_into: Callable[..., Any], body: str, message: str) -> None:
    module = add_into(f"from pykernels import prange\ndef forward(args, outs):\n    x, y, total = args\n    {body}\n")
    if "return" in body:
        module = add_into(f"def forward(args):\n    x, y, total = args\n    {body}\n")
    with pytest.raises(KernelError, match=message):
        module.api.add_into(*arrays())


def test_an_op_that_neither_returns_nor_changes_anything(add_into: Callable[..., Any]) -> None:
    module = add_into(definition=PYTHON.replace('("total",)', "()").replace('"y")', '"y", "total")'))
    with pytest.raises(DefinitionError, match="list_outputs names no output, nor list_auxiliary_states an input"):
        module.api.add_into(*arrays())


def test_mxnet_oneflow_and_onnx_runtime_refuse_it(add_into: Callable[..., Any], tmp_path: Path) -> None:
    add_into()
    calls = {
        "mxnet": "mxnet.nd.Custom(*map(mxnet.nd.array, arrays), op_type='add_into')",
        "oneflow": "op.api.add_into(*map(oneflow.tensor, arrays))",
        "onnxruntime": "pykernels.onnx.session_options('add_into')",
    }
    titles = {"mxnet": "MXNet", "oneflow": "OneFlow", "onnxruntime": "ONNX Runtime"}
    start = "import numpy as np, pykernels, pykernels.onnx\nop = pykernels.load_ops('add_into')['add_into']\n"
    start += "arrays = [np.ones(3, np.float32)] * 3\n"
    for name in filter(is_usable, calls):
        done = python("-c", f"{start}import {name}\n{calls[name]}", cwd=tmp_path)
        refusal = f"op 'add_into_forward' has no outputs, so {titles[name]} cannot run it. Return what it writes into"
        assert done.returncode == 1 and refusal in done.stderr


@pytest.mark.skipif(not is_installed("jax"), reason="jax is not installed; `make test` runs this in .venv-torch")
def test_jax_returns_what_it_writes(add_into: Callable[..., Any]) -> None:
    import jax

    import pykernels.jax

    add_into()
    given = list(map(jax.numpy.asarray, arrays()))
    for function in (pykernels.jax.add_into, jax.jit(pykernels.jax.add_into)):
        assert function(*given).tolist() == [1, 2, 3]


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed; `make test` runs this in .venv-torch")
@pytest.mark.parametrize("fuse", [False, True])
def test_pytorch(add_into: Callable[..., Any], fuse: bool) -> None:
    import torch

    from pykernels.frameworks.torch import plugin, python, tracing

    module = add_into()
    pykernels.load_ops(module.path, fuse=fuse)
    in_python = plugin.TorchOps("pykernels_in_python", python.Python)
    in_python.add(pykernels.list_ops()["add_into"])
    x, y, _ = map(torch.from_numpy, arrays())
    for library in ("pykernels", "pykernels_in_python"):
        torch._dynamo.reset()
        add = getattr(torch.ops, library).add_into
        assert str(add.default._schema).endswith("add_into(Tensor x, Tensor y, Tensor(c!) total) -> ()")
        total = torch.zeros(3)
        version = total._version
        assert add(x, y, total) is None and total.tolist() == [1, 2, 3] and total._version > version
        torch.library.opcheck(add.default, (x, y, total))
        add(*(torch.empty(3, device="meta") for _ in range(3)))

        def run(x: Any, total: Any, add: Any = add) -> Any:
            add(x * 2, y, total)
            return total + 1

        compiled = torch.compile(run, fullgraph=True, dynamic=True, backend="aot_eager")
        total = torch.zeros(3)
        assert compiled(x, total).tolist() == [2, 4, 6] and total.tolist() == [1, 3, 5]
        with pytest.raises(RuntimeError, match="has no outputs and so no gradient, but an input requires one; detach"):
            add(x.clone().requires_grad_(), y, total)
        with torch.no_grad():
            add(x.clone().requires_grad_(), y, torch.zeros(3))
    # As on a device for which no kernel is compiled.
    halves = [tensor.half() for tensor in (x, y, torch.zeros(3))]
    layout = plugin._ops.layout(pykernels.list_ops()["add_into"], "add_into_forward")
    tracing.Tracer(module.kernel("add_into_forward"), "eager").run(layout, halves, {})
    assert halves[2].tolist() == [1, 2, 3]
