"""Tensors without data: shapes and dtypes as with data, inferred without Python where sizes are numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cases import CASES, Case
from shipped import function_of, tensors_of
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from pykernels.frameworks.torch import fake


def look_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.requires_grad


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_look_as_with_data(ops: Any, case: Case) -> None:
    run, tensors = function_of(ops, case), tensors_of(case)
    expected = [look_of(y) for y in run(*tensors)]
    without = [x.detach().to("meta").requires_grad_(x.requires_grad) for x in tensors]
    results = run(*without)
    assert [look_of(y) for y in results] == expected and all(y.is_meta for y in results)
    with FakeTensorMode() as mode:
        results = run(*map(mode.from_tensor, tensors))
    assert [look_of(y) for y in results] == expected and all(y.device.type == "cpu" for y in results)


def test_results_are_contiguous(ops: Any) -> None:
    x = torch.empty(4, 3, device="meta").t()
    assert look_of(ops.sigmoid(x)) == ((3, 4), (4, 1), torch.float32, False)
    assert ops.sigmoid(torch.empty((), device="meta")).shape == ()
    assert ops.sigmoid(torch.empty(0, 5, device="meta")).shape == (0, 5)
    assert ops.sigmoid(torch.empty(2**40, 2**10, device="meta")).shape == (2**40, 2**10)


def test_gradients(ops: Any) -> None:
    data = torch.empty(3, 4, device="meta", requires_grad=True)
    y = ops.dense(data, torch.empty(2, 4, device="meta"))
    y.sum().backward()
    assert look_of(data.grad) == ((3, 4), (4, 1), torch.float32, False)


WRONG: dict[str, Callable[[Any, str], Any]] = {
    "shapes": lambda ops, device: ops.dense(torch.empty(2, 3, device=device), torch.empty(2, 4, device=device)),
    "axis": lambda ops, device: ops.softmax(torch.empty(2, 3, device=device), axis=2),
    "dtype": lambda ops, device: ops.sigmoid(torch.empty(2, dtype=torch.complex64, device=device)),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_as_with_data(ops: Any, call: Callable[[Any, str], Any]) -> None:
    with pytest.raises(RuntimeError) as expected:
        call(ops, "cpu")
    with pytest.raises(RuntimeError) as told:
        call(ops, "meta")
    assert str(told.value) == str(expected.value)


def test_only_symbols_need_python(monkeypatch: pytest.MonkeyPatch, ops: Any, backend: str) -> None:
    if backend != "pykernels":
        pytest.skip("the other backend is in Python")
    asked = []
    infer = fake.fake_outputs
    monkeypatch.setattr(fake, "fake_outputs", lambda *given: (asked.append(given), infer(*given))[1])
    x, other = torch.ones(6, 4), torch.ones(6, 4)
    ops.dense(x.to("meta"), x.to("meta"))
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fixed = mode.from_tensor(x, static_shapes=True)
        assert ops.dense(fixed, fixed).shape == (6, 6)
        assert not asked
        y = ops.dense(mode.from_tensor(other), fixed)
    assert len(asked) == 1 and isinstance(y.shape[0], torch.SymInt) and y.device.type == "cpu"
