"""Auxiliary states in PyTorch: tensors that a kernel changes in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import pykernels


def arguments(seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    gamma, beta = (torch.randn(3, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2))
    return [x, gamma, beta, torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]


def built_in(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, *, is_train: bool) -> torch.Tensor:
    """In PyTorch's own words, whose momentum is the other part, and whose variance in training is unbiased."""
    y = (
        torch.nn.functional.batch_norm(x, None, None, gamma, beta, True, eps=1e-3)
        if is_train
        else (torch.nn.functional.batch_norm(x, mean, var, gamma, beta, False, eps=1e-3))
    )
    if is_train:
        with torch.no_grad():
            mean.mul_(0.9).add_(0.1 * x.mean((0, 2)))
            var.mul_(0.9).add_(0.1 * x.var((0, 2), unbiased=False))
    return y


@pytest.mark.thorough
@pytest.mark.parametrize("is_train", [False, True])
def test_batch_norm_equals_pytorchs_own(ops: Any, is_train: bool) -> None:
    ours, theirs = arguments(), arguments()
    for _ in range(2):
        results = [ops.batch_norm(*ours, is_train=is_train), built_in(*theirs, is_train=is_train)]
        torch.testing.assert_close(*results)
    for y in results:
        y.square().sum().backward()
    torch.testing.assert_close(ours[3:], theirs[3:])
    torch.testing.assert_close([x.grad for x in ours[:3]], [x.grad for x in theirs[:3]])


@pytest.mark.thorough
@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (4, 0)])
def test_nothing_is_learnt_from_nothing(ops: Any, is_train: bool, shape: tuple[int, ...]) -> None:
    _, *rest = (x.detach()[: shape[1]] for x in arguments())
    x, (gamma, beta, mean, var) = torch.ones(shape, dtype=torch.float64, requires_grad=True), rest
    gamma.requires_grad_()
    y = ops.batch_norm(x, gamma, beta, mean, var, is_train=is_train)
    y.sum().backward()
    assert y.shape == x.grad.shape == shape
    assert mean.tolist() == [0] * shape[1] and var.tolist() == [1] * shape[1] and not gamma.grad.any()


def test_a_number_has_no_channels(ops: Any) -> None:
    with pytest.raises(RuntimeError, match=r"batch_norm_py_def.py:\d+: ValueError: axis 1 is not one of the 0 axes"):
        ops.batch_norm(torch.ones(()), *(torch.ones(3) for _ in range(4)))


@pytest.mark.parametrize("is_train", [False, True])
def test_finite_differences(ops: Any, is_train: bool) -> None:
    x, gamma, beta, mean, var = arguments()

    def run(*variables: torch.Tensor) -> torch.Tensor:
        return ops.batch_norm(*variables, mean.clone(), var.clone(), is_train=is_train)

    assert torch.autograd.gradcheck(run, (x, gamma, beta))
    assert torch.autograd.gradgradcheck(run, (x, gamma, beta))


@pytest.mark.parametrize("is_train", [False, True])
def test_opcheck(ops: Any, is_train: bool) -> None:
    torch.library.opcheck(ops.batch_norm.default, tuple(arguments()), {"is_train": is_train})


@pytest.mark.parametrize("is_train", [False, True])
def test_compiled(ops: Any, is_train: bool) -> None:
    compiled = torch.compile(
        lambda *xs: ops.batch_norm(*xs, is_train=is_train), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    ours, theirs = arguments(), arguments()
    results = [compiled(*ours), ops.batch_norm(*theirs, is_train=is_train)]
    torch.testing.assert_close(*results)
    for y in results:
        y.square().sum().backward()
    torch.testing.assert_close(ours[3:], theirs[3:])
    torch.testing.assert_close([x.grad for x in ours[:3]], [x.grad for x in theirs[:3]])


def test_a_layer_used_twice_before_its_gradient(ops: Any) -> None:
    """What the first use leaves of the states is not what the second one does."""
    ours = arguments()
    x, gamma, beta, mean, var = ours
    total = sum(ops.batch_norm(x * factor, gamma, beta, mean, var, is_train=True).square().sum() for factor in (1, 2))
    total.backward()
    theirs = arguments()
    y, delta, epsilon, m, v = theirs
    sum(built_in(y * factor, delta, epsilon, m, v, is_train=True).square().sum() for factor in (1, 2)).backward()
    torch.testing.assert_close([t.grad for t in ours[:3]], [t.grad for t in theirs[:3]])


def test_states_that_are_not_contiguous(ops: Any) -> None:
    x, gamma, beta, mean, var = arguments()
    strided = torch.zeros(3, 2, dtype=torch.float64)
    ops.batch_norm(x, gamma, beta, strided[:, 0], var, is_train=True)
    ops.batch_norm(x, gamma, beta, mean, torch.ones_like(var), is_train=True)
    torch.testing.assert_close(strided[:, 0], mean)
    assert not strided[:, 1].any()


def test_a_changed_state_is_a_new_version(ops: Any) -> None:
    *given, mean, var = arguments()
    before = mean._version
    ops.batch_norm(*given, mean, var, is_train=True)
    assert mean._version > before
    with torch.inference_mode():
        ops.batch_norm(*(x.detach().clone() for x in (*given, mean, var)), is_train=True)


def test_states_that_cannot_be(ops: Any) -> None:
    x, gamma, beta, mean, var = arguments()
    with pytest.raises(RuntimeError, match="changes its input 'moving_mean' in place, which requires a gradient"):
        ops.batch_norm(x, gamma, beta, mean.requires_grad_(), var, is_train=True)
    with pytest.raises(RuntimeError, match="its input 'moving_var', which shares memory with its input 'moving_mean'"):
        ops.batch_norm(x, gamma, beta, var, var, is_train=True)
    with pytest.raises(RuntimeError, match="'moving_mean'.*elements share memory"):
        ops.batch_norm(x, gamma, beta, torch.zeros(1, dtype=torch.float64).expand(3), var, is_train=True)
    with pytest.raises(RuntimeError, match="changes its input 'moving_mean' in place, which vmap cannot do"):
        torch.func.vmap(ops.batch_norm, in_dims=(0, None, None, None, None))(x.detach()[None], *arguments()[1:])


def test_api_functions_learn_of_training_from_modules_and_gradients() -> None:
    pykernels.load_ops()
    batch_norm = pykernels.list_ops()["batch_norm"].api.batch_norm

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList(arguments()[1:3])
            self.register_buffer("mean", torch.zeros(3, dtype=torch.float64))
            self.register_buffer("var", torch.ones(3, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return batch_norm(x, *self.weights, self.mean, self.var)

    layer, x = Layer(), arguments()[0]
    layer.eval()(x)
    assert not layer.mean.any()
    layer.train()(x.detach())
    assert layer.mean.all()
    *given, mean, var = arguments()
    with torch.no_grad():
        batch_norm(*given, mean, var)
    assert not mean.any()
    batch_norm(*given, mean, var)
    assert mean.all()


# PyTorch's own, where it loads buffers.
@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_exports_with_any_number_of_rows(ops: Any, tmp_path: Path) -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            _, *rest = (x.detach() for x in arguments())
            for name, value in zip(("gamma", "beta", "mean", "var"), rest):
                self.register_buffer(name, value.clone())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ops.batch_norm(x, self.gamma, self.beta, self.mean, self.var, is_train=True)

    x = arguments()[0].detach()
    program = torch.export.export(Layer(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2)}})
    torch.export.save(program, tmp_path / "program.pt2")
    loaded, layer = torch.export.load(tmp_path / "program.pt2").module(), Layer()
    for rows in (2, 5):
        torch.testing.assert_close(loaded(x[:rows]), layer(x[:rows]))
    torch.testing.assert_close(dict(loaded.named_buffers()), dict(layer.named_buffers()))
