"""The shipped ops on OneFlow's tensors: equal to those on arrays, with gradients that finite differences confirm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import oneflow as flow
import pytest
from cases import CASES, Case, outputs

import pykernels

pytestmark = pytest.mark.usefixtures("shipped")


def api(case: Case) -> Any:
    function = getattr(pykernels.list_ops()[case.op].api, case.op)
    return lambda *tensors: outputs(function(*tensors, **case.attributes))


def built(case: Case) -> Any:
    """The op through the builder, by its definition."""
    op = pykernels.list_ops()[case.op].forward

    def call(*tensors: Any) -> list[Any]:
        builder = pykernels.user_op_builder("built").Op(op.name)
        for argument, tensor in zip(op.inputs, tensors):
            builder = builder.Input(argument.name, [tensor])
        for argument in op.outputs:
            builder = builder.Output(argument.name)
        for name, value in case.attributes.items():
            builder = builder.Attr(name, value)
        return list(builder.Build().InferAndTryRun().RemoteBlobList())

    return call


def tensors_of(case: Case, dtype: str, seed: int = 0) -> list[Any]:
    tensors = [flow.tensor(x) for x in case.inputs(dtype, seed)]
    for which in case.variables:
        tensors[which].requires_grad = True
    return tensors


def random_seeds(ys: Sequence[Any]) -> list[Any]:
    """A weight for every element of the outputs."""
    rng = np.random.default_rng(1)
    return [flow.tensor(rng.normal(size=tuple(y.shape)).astype(y.numpy().dtype)) for y in ys]


def weighted_sum(ys: Sequence[Any], seeds: Sequence[Any]) -> Any:
    return sum((y * seed).sum() for y, seed in zip(ys, seeds, strict=True))


class Module(flow.nn.Module):
    """The op on what it is called with."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: Any) -> Any:
        return tuple(self.function(*tensors))


def infer_in_graph(function: Any, tensors: Sequence[Any]) -> list[Any]:
    class Graph(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.module = Module(function).eval()

        def build(self, *args: Any) -> Any:
            return self.module(*args)

    return outputs(Graph()(*tensors))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal_to_numpy(case: Case, dtype: str) -> None:
    if dtype not in case.dtypes:
        pytest.skip("results cannot be compared in this dtype")
    expected = api(case)(*case.inputs(dtype))
    for function in (api(case), built(case)):
        for run in (lambda f, ts: f(*ts), infer_in_graph):
            results = run(function, [flow.tensor(x) for x in case.inputs(dtype)])
            for result, wanted in zip(results, expected, strict=True):
                assert result.numpy().dtype == wanted.dtype
                np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_gradients_are_finite_differences(case: Case) -> None:
    tensors = tensors_of(case, "float64", seed=2)
    ys = api(case)(*tensors)
    seeds = random_seeds(ys)
    weighted_sum(ys, seeds).backward()
    for which in case.variables:
        numeric = np.empty(tensors[which].shape)
        for at in np.ndindex(numeric.shape):
            numeric[at] = slope(case, seeds, which, at)
        np.testing.assert_allclose(tensors[which].grad.numpy(), numeric, rtol=1e-6, atol=1e-8)


def slope(case: Case, seeds: list[Any], which: int, at: tuple[int, ...]) -> float:
    """The derivative of the weighted sum with respect to one element, by a central difference."""
    step = 1e-6
    values = []
    for sign in (1, -1):
        moved = case.inputs("float64", seed=2)
        moved[which][at] += sign * step
        tensors = [flow.tensor(x) for x in moved]
        for variable in case.variables:
            tensors[variable].requires_grad = True
        values.append(float(weighted_sum(api(case)(*tensors), seeds).numpy()))
    return (values[0] - values[1]) / (2 * step)


class Trained(flow.nn.Module):
    """The op on parameters, and what is not trained."""

    def __init__(self, case: Case, values: Sequence[np.ndarray]) -> None:
        super().__init__()
        self.case = case
        for which in case.variables:
            self.register_parameter(f"p{which}", flow.nn.Parameter(flow.tensor(values[which])))

    def forward(self, *constants: Any) -> Any:
        given = iter(constants)
        tensors = [
            getattr(self, f"p{i}") if i in self.case.variables else next(given) for i in range(len(self.case.shapes))
        ]
        return api(self.case)(*tensors)


@pytest.mark.thorough
@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_training_in_a_graph_is_training_outside(case: Case) -> None:
    values = case.inputs("float32")
    constants = [flow.tensor(values[i]) for i in case.constants]
    with flow.no_grad():
        seeds = random_seeds(api(case)(*map(flow.tensor, values)))
    steps = 3

    eager = Trained(case, values)
    optimizer = flow.optim.SGD(eager.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = weighted_sum(eager(*constants), seeds)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.numpy()))

    trained = Trained(case, values)

    class Graph(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.module = trained
            self.add_optimizer(flow.optim.SGD(trained.parameters(), lr=0.1))

        def build(self, *constants: Any) -> Any:
            loss = weighted_sum(self.module(*constants), seeds)
            loss.backward()
            return loss

    graph = Graph()
    np.testing.assert_allclose([float(graph(*constants).numpy()) for _ in range(steps)], losses, rtol=1e-5)
    for which in case.variables:
        np.testing.assert_allclose(
            getattr(trained, f"p{which}").numpy(), getattr(eager, f"p{which}").numpy(), rtol=1e-5, atol=1e-6
        )
