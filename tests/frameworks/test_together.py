"""One process uses all frameworks that one environment can hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from only_with import is_installed
from process import program

FRAMEWORKS = ("mxnet", "torch", "jax", "onnxruntime")
PROGRAM = """
import pykernels
import pykernels.onnx

pykernels.load_ops()
import jax
import mxnet as mx
import numpy as np
import torch
from onnx import TensorProto, helper

sigmoid = pykernels.list_ops()["sigmoid"].api.sigmoid
x = np.linspace(-2, 2, 8, dtype=np.float32)
wanted = 1 / (1 + np.exp(-x))

ours = mx.nd.array(x)
ours.attach_grad()
with mx.autograd.record():
    y = mx.nd.Custom(ours, op_type="sigmoid")
y.backward()
tensor = torch.tensor(x, requires_grad=True)
of_torch = torch.ops.pykernels.sigmoid(tensor)
of_torch.sum().backward()
of_jax, pull = jax.vjp(jax.jit(sigmoid), x)
values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
graph = helper.make_graph([helper.make_node("sigmoid", ["x"], ["y"], domain="pykernels")], "g", values[:1], values[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("pykernels", 1)])
model.ir_version = 8
of_onnx = pykernels.onnx.session(model.SerializeToString()).run(None, {"x": x})[0]

for result in (y.asnumpy(), of_torch.detach().numpy(), of_jax, of_onnx, sigmoid(x)):
    np.testing.assert_allclose(result, wanted, rtol=1e-6)
for gradient in (ours.grad.asnumpy(), tensor.grad.numpy(), pull(np.ones_like(x))[0]):
    np.testing.assert_allclose(gradient, wanted * (1 - wanted), rtol=1e-5)
"""


@pytest.mark.skipif(
    not all(map(is_installed, FRAMEWORKS)), reason=f"needs {', '.join(FRAMEWORKS)}; `make test` has all in .venv-torch"
)
def test_all_frameworks_run_an_op_in_one_process(tmp_path: Path) -> None:
    program(PROGRAM, cwd=tmp_path)
