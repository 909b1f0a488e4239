"""Auxiliary states and training mode: batch_norm and dropout in modules, in graphs, and outside of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import pytest

import pykernels
from pykernels.base.errors import CallError

pytestmark = pytest.mark.usefixtures("shipped")
X = np.random.default_rng(0).normal(2, 3, (4, 3, 2)).astype("float32")


def batch_norm(*tensors: Any) -> Any:
    return pykernels.list_ops()["batch_norm"].api.batch_norm(*tensors)


def dropout(x: Any) -> Any:
    return pykernels.list_ops()["dropout"].api.dropout(x, p=0.5, seed=1)[0]


def parameters() -> list[Any]:
    """gamma, beta, moving_mean, moving_var."""
    return [flow.ones(3) * 2, flow.ones(3), flow.zeros(3), flow.ones(3)]


class Norm(flow.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        gamma, beta, mean, var = parameters()
        self.gamma, self.beta = flow.nn.Parameter(gamma), flow.nn.Parameter(beta)
        self.register_buffer("mean", mean)
        self.register_buffer("var", var)

    def forward(self, x: Any) -> Any:
        return batch_norm(x, self.gamma, self.beta, self.mean, self.var)

    def numbers(self) -> list[np.ndarray]:
        return [each.numpy() for each in (self.gamma, self.beta, self.mean, self.var)]


class Trainer(flow.nn.Graph):
    def __init__(self, module: Norm) -> None:
        super().__init__()
        self.module = module
        self.add_optimizer(flow.optim.SGD(module.parameters(), lr=0.1))

    def build(self, x: Any) -> Any:
        loss = self.module(x).square().sum()
        loss.backward()
        return loss


class Inference(flow.nn.Graph):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def build(self, *args: Any) -> Any:
        return self.function(*args)


def train_eagerly(module: Norm, steps: int) -> list[float]:
    optimizer = flow.optim.SGD(module.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = module(flow.tensor(X)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def assert_close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_states_follow_the_batches() -> None:
    module = Norm()
    module(flow.tensor(X))
    np.testing.assert_allclose(module.mean.numpy(), X.mean((0, 2)) * 0.1, rtol=1e-5)
    np.testing.assert_allclose(module.var.numpy(), 0.9 + X.var((0, 2)) * 0.1, rtol=1e-5)


def test_a_graph_trains_as_modules_do() -> None:
    eager, lazy = Norm(), Norm()
    losses = train_eagerly(eager, 3)
    graph = Trainer(lazy)
    np.testing.assert_allclose([graph(flow.tensor(X)).item() for _ in range(3)], losses, rtol=1e-5)
    assert_close(lazy.numbers(), eager.numbers())


def test_a_module_that_is_saved_and_loaded(tmp_path: Path) -> None:
    """With its parameters and states, trained in a graph; then training and inference go on as they would have."""
    module = Norm()
    graph = Trainer(module)
    for _ in range(2):
        graph(flow.tensor(X)).numpy()
    flow.save(module.state_dict(), str(tmp_path / "saved"))
    loaded = Norm()
    loaded.load_state_dict(flow.load(str(tmp_path / "saved")))
    assert_close(loaded.numbers(), module.numbers())
    # In the graph: OneFlow 0.9 cannot train outside of it what has been trained in it.
    losses = [graph(flow.tensor(X)).item() for _ in range(2)]
    np.testing.assert_allclose(train_eagerly(loaded, 2), losses, rtol=1e-5)
    assert_close(loaded.numbers(), module.numbers())
    for each in (module, loaded):
        each.eval()
    x = flow.tensor(X)
    np.testing.assert_allclose(Inference(loaded)(x).numpy(), module(x).numpy(), rtol=1e-5)


def test_inference_uses_the_states_and_leaves_them() -> None:
    module = Norm()
    train_eagerly(module, 2)
    module.eval()
    before = module.numbers()
    expected = batch_norm(X, *before)
    for y in (module(flow.tensor(X)), Inference(module)(flow.tensor(X))):
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    for one, other in zip(module.numbers(), before):
        np.testing.assert_array_equal(one, other)


def test_the_mode_of_a_module_decides() -> None:
    class Dropped(flow.nn.Module):
        def forward(self, x: Any) -> Any:
            return dropout(x)

    module, x = Dropped(), flow.ones(100)
    for mode in (True, False):
        module.train(mode)
        for y in (module(x), Inference(module)(x), module(flow.ones(100, requires_grad=True))):
            assert (y.numpy() == 0).any() == mode
        with flow.no_grad():
            assert (module(x).numpy() == 0).any() == mode


def test_outside_of_modules_what_is_recorded_is_training() -> None:
    x = flow.ones(100, requires_grad=True)
    assert (dropout(x).numpy() == 0).any()
    assert not (dropout(flow.ones(100)).numpy() == 0).any()
    with flow.no_grad():
        assert not (dropout(x).numpy() == 0).any()
    assert not (Inference(dropout)(flow.ones(100)).numpy() == 0).any()


def test_the_gradient_drops_what_the_call_has_dropped() -> None:
    x = flow.ones(100, requires_grad=True)
    y = dropout(x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_states_that_would_be_copied_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    gamma, beta, mean, var = parameters()
    x = flow.tensor(X)
    with pytest.raises(CallError, match="changes its input 'moving_mean' in place, which must be contiguous"):
        batch_norm(x, gamma, beta, flow.zeros(3, 2)[:, 0], var)
    with pytest.raises(CallError, match="'moving_mean' in place, which must be a buffer or a parameter"):
        Inference(batch_norm)(x, gamma, beta, mean, var)


def test_accumulated_gradients_with_states_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    graph = Trainer(Norm())
    graph.config.set_gradient_accumulation_steps(2)
    with pytest.raises(CallError, match="a graph that accumulates gradients hands out copies"):
        graph(flow.tensor(X))
