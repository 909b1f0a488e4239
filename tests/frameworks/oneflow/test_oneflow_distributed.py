"""Global tensors on two ranks: the results of one rank, for every way of distributing that a definition lists."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from folders import write_op
from process import python

KERNEL = """
    def forward(args):
        return args[0] * 3

    def backward(args):
        return args[0] * 3
"""
DEFINITION = """
    import pykernels

    class Prop(pykernels.CustomOpProp):
        split_for_each_axis = True
"""

PROGRAM = """
import os
import numpy as np
import oneflow as flow
import pykernels
from pykernels.base import paths

pykernels.load_ops(paths.OPS, "triple")
ops = {name: getattr(module.api, name) for name, module in pykernels.list_ops().items()}
both = flow.placement("cpu", ranks=[0, 1])
split, broadcast, partial_sum = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
rng = np.random.default_rng(0)


def numbers(*shape):
    return rng.normal(size=shape).astype("float32")


def spread(array, sbp, grad=False):
    return flow.tensor(array, placement=both, sbp=sbp, requires_grad=grad)


def whole(tensor):
    return tensor.to_global(placement=both, sbp=broadcast).to_local().numpy()


class Graph(flow.nn.Graph):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def build(self, *args):
        return self.function(*args)


x, w = numbers(4, 6), numbers(2, 6)
checks = 0
for name in ("sigmoid", "tanh", "relu", "leaky_relu", "softmax", "smooth_l1", "triple"):
    expected = ops[name](x)
    local = flow.tensor(x, requires_grad=True)
    ops[name](local).square().sum().backward()
    ways = (split(0), split(1), broadcast)
    for sbp in ways:
        t = spread(x, sbp, grad=True)
        y = ops[name](t)
        kept = sbp if name != "softmax" or sbp != split(1) else None
        assert kept is None or y.sbp == (sbp,), (name, sbp, y.sbp)
        np.testing.assert_array_equal(whole(y), expected)
        y.square().sum().backward()
        np.testing.assert_allclose(whole(t.grad), local.grad.numpy(), rtol=1e-5, atol=1e-6)
        checks += 1
    # To start a graph takes longer than all else.
    for y in Graph(lambda *each: [*map(ops[name], each)])(*(spread(x, sbp) for sbp in ways)):
        np.testing.assert_array_equal(whole(y), expected)
        checks += 1

dense = ops["dense"]
expected = dense(x, w)
ways = (
    (split(0), broadcast, split(0)),
    (broadcast, split(0), split(1)),
    (split(1), split(1), partial_sum),
    (broadcast, broadcast, broadcast),
)
pairs = [(spread(x, data), spread(w, weight)) for data, weight, _ in ways]
in_graph = Graph(lambda *each: [*map(dense, each[::2], each[1::2])])(*(t for pair in pairs for t in pair))
for results in ([dense(*pair) for pair in pairs], in_graph):
    for y, (data, weight, result) in zip(results, ways, strict=True):
        assert y.sbp == (result,), (data, weight, y.sbp)
        np.testing.assert_allclose(whole(y), expected, rtol=1e-5, atol=1e-6)
        checks += 1
# Sums of parts add a bias once.
np.testing.assert_allclose(
    whole(dense(spread(x, split(1)), spread(w, split(1)), bias=0.5)), dense(x, w, bias=0.5), rtol=1e-5, atol=1e-6
)

# Training with split data: gradients of the weight are partial sums.
def losses(sbp):
    weight = flow.nn.Parameter(spread(w, broadcast))
    optimizer = flow.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        loss = ops["sigmoid"](dense(spread(x, sbp), weight)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return whole(loss), whole(weight)

for one, other in zip(losses(broadcast), losses(split(0))):
    np.testing.assert_allclose(one, other, rtol=1e-5)

# States must be whole on every rank.
ones = np.ones(6, "float32")
try:
    ops["batch_norm"](spread(x, split(0)), *(spread(ones, broadcast) for _ in range(3)), spread(ones, split(0)))
except pykernels.CallError as error:
    assert "'moving_var' in place, which must be broadcast to all ranks" in str(error), error
    checks += 1

# A kernel that fails on both ranks.
try:
    whole(ops["embedding"](spread(np.array([7, 8]), broadcast), spread(w, broadcast)))
except RuntimeError as error:
    assert "embedding_py_kernel.py" in str(error), error
    checks += 1
np.testing.assert_array_equal(whole(ops["relu"](spread(x, split(0)))), np.maximum(x, 0))
print(f"rank {flow.env.get_rank()} is done after {checks} checks", flush=True)
"""


@pytest.mark.thorough
def test_two_ranks(tmp_path: Path) -> None:
    write_op(tmp_path, "triple", KERNEL, DEFINITION)
    (tmp_path / "ranks.py").write_text(textwrap.dedent(PROGRAM))
    done = python(
        "-m", "oneflow.distributed.launch", "--nproc_per_node", "2", "--master_port", str(port()), "ranks.py",
        cwd=tmp_path,
    )  # fmt: skip
    for rank in range(2):
        assert f"rank {rank} is done after 52 checks" in done.stdout, done.stdout + done.stderr


def port() -> int:
    """One that is free."""
    import socket

    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])
