"""Attributes of every type, repeated and optional arguments, several outputs, and dtypes; in graphs, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oneflow as flow
import pytest
from every_op import GIVEN, call, write_every_op

import pykernels
from pykernels.base import paths


@pytest.fixture(scope="module", autouse=True)
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    pykernels.load_ops(write_every_op(tmp_path_factory.mktemp("every")))
    yield
    pykernels.unload_ops("every")


def in_graph(function: Callable[..., Any], *tensors: Any) -> Any:
    class Graph(flow.nn.Graph):
        def build(self, *args: Any) -> Any:
            return function(*args)

    return Graph()(*tensors)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("attributes", [{}, *({name: value} for name, value in GIVEN.items()), GIVEN], ids=str)
def test_attributes_arrive_as_on_arrays(attributes: dict[str, Any]) -> None:
    x = np.arange(3.0)
    expected, _ = call(x, [x], **attributes)
    t = flow.tensor(x)
    np.testing.assert_array_equal(call(t, [t], **attributes)[0].numpy(), expected)
    np.testing.assert_array_equal(in_graph(lambda t: call(t, [t], **attributes)[0], t).numpy(), expected)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("n", [1, 3, 11])
@pytest.mark.parametrize("has_bias", [False, True])
def test_repeated_and_optional_arguments(n: int, has_bias: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, i + 1)) for i in range(n)]
    x, bias = rng.normal(size=4), rng.normal(size=4) if has_bias else None
    expected = call(x, arrays, bias)
    tensors = [flow.tensor(a) for a in arrays]
    t, b = flow.tensor(x), None if bias is None else flow.tensor(bias)
    given = [t, *tensors] if b is None else [t, *tensors, b]
    graph = in_graph(lambda x, *rest: tuple(call(x, rest[:n], rest[n] if has_bias else None)), *given)
    for results in (call(t, tensors, b), graph):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_gradients_of_repeated_arguments() -> None:
    """In a graph their order is not the one in which OneFlow lists them."""
    xs = [flow.ones(i + 1, dtype=flow.float64, requires_grad=True) for i in range(11)]
    x = flow.ones(4, dtype=flow.float64, requires_grad=True)
    sum(y.sum() for y in call(x, xs, d=0.25)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 0.25))
    for i, each in enumerate(xs):
        np.testing.assert_array_equal(each.grad.numpy(), np.full(i + 1, i + 1.0))

    class Trained(flow.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(11):
                self.register_parameter(f"p{i}", flow.nn.Parameter(flow.zeros(i + 1)))

        def forward(self, x: Any) -> Any:
            _, *each = call(x, [getattr(self, f"p{i}") for i in range(11)])
            return sum(e.sum() for e in each)

    class Graph(flow.nn.Graph):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module
            self.add_optimizer(flow.optim.SGD(module.parameters(), lr=1.0))

        def build(self, x: Any) -> Any:
            loss = self.module(x)
            loss.backward()
            return loss

    module = Trained()
    Graph(module)(flow.ones(2)).numpy()
    for i in range(11):
        np.testing.assert_array_equal(getattr(module, f"p{i}").numpy(), np.full(i + 1, -(i + 1.0)))


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    pykernels.load_ops(pykernels.base.paths.OPS / "relu")
    relu = pykernels.list_ops()["relu"].api.relu
    values = np.array([-2, 0, 3]).astype(dtype)
    if dtype == "bool":
        with pytest.raises((RuntimeError, pykernels.PykernelsError)):
            relu(values)
        with pytest.raises(RuntimeError, match="relu"):
            relu(flow.tensor(values)).numpy()
        return
    result = relu(flow.tensor(values)).numpy()
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, relu(values))


@pytest.mark.thorough
def test_the_zeros_of_both_signs_are_different() -> None:
    leaky_relu = pykernels.load_ops(paths.OPS / "leaky_relu")["leaky_relu"].api.leaky_relu
    x = flow.tensor([-1.0])
    for alpha in (0.0, -0.0, 0.0):
        assert np.signbit(leaky_relu(x, alpha=alpha).numpy()).tolist() == [not np.signbit(alpha)]
