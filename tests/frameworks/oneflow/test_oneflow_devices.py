"""Devices that there are none of, where OneFlow itself ends the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
import pytest

import pykernels

pytestmark = [
    pytest.mark.usefixtures("shipped"),
    pytest.mark.skipif(flow.cuda.is_available(), reason="this machine has a GPU that OneFlow can use"),
]
CPU = flow.ones(2)
GPU = flow.device("cuda")

CALLS: dict[str, Callable[[], Any]] = {
    "Tensor.to": lambda: CPU.to("cuda"),
    "Tensor.to a device": lambda: CPU.to(GPU),
    "Tensor.to, by keyword": lambda: CPU.to(device="cuda:0"),
    "Tensor.cuda": lambda: CPU.cuda(),
    "Module.to": lambda: flow.nn.Linear(2, 2).to("cuda"),
    "Module.cuda": lambda: flow.nn.Linear(2, 2).cuda(),
    "Parameter.to": lambda: flow.nn.Parameter(CPU).to("cuda"),
    "tensor": lambda: flow.tensor([1.0], device="cuda"),
    "tensor on a device": lambda: flow.tensor([1.0], device=GPU),
    "new_tensor": lambda: CPU.new_tensor([1.0], device="cuda"),
    "ones": lambda: flow.ones(2, device="cuda"),
    "zeros": lambda: flow.zeros(2, device=GPU),
    "full": lambda: flow.full((2,), 3.0, device="cuda"),
    "empty": lambda: flow.empty(2, device="cuda"),
    "new_zeros": lambda: CPU.new_zeros(2, device="cuda"),
    "arange": lambda: flow.arange(3, device="cuda"),
    "linspace": lambda: flow.linspace(0, 1, 3, device="cuda"),
    "eye": lambda: flow.eye(3, device="cuda"),
    "rand": lambda: flow.rand(3, device="cuda"),
    "randn": lambda: flow.randn(3, device="cuda"),
    "randint": lambda: flow.randint(0, 3, (2,), device="cuda"),
    "randperm": lambda: flow.randperm(3, device="cuda"),
    "as_tensor": lambda: flow.as_tensor([1.0], device="cuda"),
}


@pytest.mark.parametrize("name", CALLS)
def test_tensors_on_a_device_that_there_is_none_of_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="there is no device 'cuda.*': OneFlow finds no GPU that it can use"):
        CALLS[name]()
    assert pykernels.list_ops()["relu"].api.relu(CPU).tolist() == [1, 1]


def test_global_tensors_are_refused_by_oneflow() -> None:
    with pytest.raises(RuntimeError, match="there is no device"):
        CPU.to_global(placement=flow.placement("cuda", ranks=[0]), sbp=flow.sbp.broadcast)


def test_the_cpu_is_as_before() -> None:
    assert (
        CPU.to("cpu").tolist() == CPU.to(flow.device("cpu")).tolist() == flow.ones(2, device="cpu").tolist() == [1, 1]
    )
    assert CPU.to(flow.int32).dtype == flow.tensor(3, dtype=flow.int32).dtype == flow.int32
    assert CPU.to(flow.zeros(1, dtype=flow.float64)).dtype == flow.float64
