"""OneFlow, MXNet and pykernels in one process, imported in every order."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from process import program

USE = """
import numpy as np

pykernels.load_ops(pykernels.base.paths.OPS / "sigmoid")
sigmoid = pykernels.list_ops()["sigmoid"].api.sigmoid
x = flow.zeros(2, requires_grad=True)
y = mx.nd.zeros(2)
y.attach_grad()
for _ in range(2):
    sigmoid(x).sum().backward()
    with mx.autograd.record():
        z = sigmoid(y)
    z.backward()
print(x.grad.tolist(), z.asnumpy().tolist(), y.grad.asnumpy().tolist())
print(mx.nd.sigmoid(y).asnumpy().tolist(), flow.sigmoid(x).tolist())
"""
IMPORTS = {
    "mxnet": "import warnings; warnings.simplefilter('ignore'); import mxnet as mx",
    "oneflow": "import warnings; warnings.simplefilter('ignore'); import oneflow as flow",
    "pykernels": "import pykernels, pykernels.base.paths",
}


@pytest.mark.thorough
def test_every_order(tmp_path: Path) -> None:
    def run(order: tuple[str, ...]) -> str:
        return program("\n".join([*(IMPORTS[name] for name in order), USE]), cwd=tmp_path).stdout

    orders = list(itertools.permutations(IMPORTS))
    with ThreadPoolExecutor(2) as pool:
        shown = dict(zip(orders, pool.map(run, orders)))
    expected = "[0.5, 0.5] [0.5, 0.5] [0.25, 0.25]\n[0.5, 0.5] [0.5, 0.5]\n"
    assert shown == dict.fromkeys(orders, expected)
