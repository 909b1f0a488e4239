"""The shipped ops beside those that OneFlow has of the same: values, gradients, and steps of training in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow
import pytest
from cases import ELEMENTWISE_AND_LAYERS, LOSSES, Case, outputs

import pykernels

pytestmark = pytest.mark.usefixtures("shipped")
F = flow.nn.functional


def layer_norm(x: Any, gamma: Any, beta: Any, axis: int, eps: float) -> Any:
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return (x - mean) / flow.sqrt(variance + eps) * gamma + beta


#: In OneFlow's words, called as the op is.
OWN: dict[str, Callable[..., Any]] = {
    "sigmoid": flow.sigmoid,
    "tanh": flow.tanh,
    "relu": flow.relu,
    "leaky_relu": lambda x, alpha=0.01: F.leaky_relu(x, alpha),
    "softmax": lambda x, axis=-1: flow.softmax(x, dim=axis),
    "dense": lambda x, w, bias=0.0: flow.matmul(x, w, transpose_b=True) + bias,
    "layer_norm": layer_norm,
    "embedding": lambda i, w: F.embedding(i.to(flow.int64), w),
    "smooth_l1": lambda x, scalar=1.0: F.smooth_l1_loss(x, flow.zeros_like(x), reduction="none", beta=1 / scalar**2),
    "softmax_cross_entropy": lambda x, labels: F.cross_entropy(x, labels.to(flow.int64), reduction="none"),
}
CASES = [case for case in (*ELEMENTWISE_AND_LAYERS, *LOSSES) if case.op in OWN]


def theirs(case: Case) -> Callable[..., Any]:
    return lambda *tensors: OWN[case.op](*tensors, **case.attributes)


def ours(case: Case) -> Callable[..., Any]:
    function = getattr(pykernels.list_ops()[case.op].api, case.op)
    return lambda *tensors: outputs(function(*tensors, **case.attributes))[0]


class Weighted(flow.nn.Module):
    """The function of parameters and constants, summed with a weight for each element."""

    def __init__(self, function: Callable[..., Any], case: Case) -> None:
        super().__init__()
        self.function, self.case = function, case
        self.values = case.inputs("float32", seed=3)
        for which in case.variables:
            self.register_parameter(f"p{which}", flow.nn.Parameter(flow.tensor(self.values[which])))

    def result(self, *constants: Any) -> Any:
        given = iter(constants)
        variables = self.case.variables
        return self.function(
            *(getattr(self, f"p{i}") if i in variables else next(given) for i in range(len(self.values)))
        )

    def forward(self, weight: Any, *constants: Any) -> Any:
        return (self.result(*constants) * weight).sum()

    def numbers(self) -> list[np.ndarray]:
        return [parameter.numpy() for parameter in self.parameters()]


class Trainer(flow.nn.Graph):
    def __init__(self, module: Weighted) -> None:
        super().__init__()
        self.module = module
        self.add_optimizer(flow.optim.SGD(module.parameters(), lr=0.1))

    def build(self, *tensors: Any) -> Any:
        loss = self.module(*tensors)
        loss.backward()
        return loss


# OneFlow 0.9 calls modules of its own in its losses, and warns of them in graphs.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.* is called in a nn.Graph:UserWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients_are_those_of_oneflow(case: Case) -> None:
    modules = [Weighted(function(case), case) for function in (ours, theirs)]
    constants = [flow.tensor(modules[0].values[i]) for i in case.constants]
    found, expected = (module.result(*constants).numpy() for module in modules)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)

    weight = flow.tensor(np.random.default_rng(4).normal(size=found.shape).astype("float32"))
    for module in modules:
        module(weight, *constants).backward()
    for mine, other in zip(*(module.parameters() for module in modules), strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=2e-5, atol=1e-5)

    losses = [[float(graph(weight, *constants).numpy()) for _ in range(2)] for graph in map(Trainer, modules)]
    np.testing.assert_allclose(*losses, rtol=1e-4, atol=1e-5)
    for mine, other in zip(*(module.numbers() for module in modules), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
