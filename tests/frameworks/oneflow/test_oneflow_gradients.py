"""Gradients of gradients, and what a call keeps for its gradient."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import pytest
from folders import SQUARES, SQUARES_PROP, write_exponential, write_op

import pykernels


@pytest.fixture(scope="module", autouse=True)
def exponential(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    pykernels.load_ops(write_exponential(tmp_path_factory.mktemp("exponential")))
    yield
    pykernels.unload_ops("exponential")


def exp(x: Any) -> Any:
    builder = pykernels.user_op_builder("exp").Op("exponential_forward").Input("x", [x]).Output("y")
    return builder.Build().InferAndTryRun().SoleOutputBlob()


VALUES = np.array([-1.0, 0.0, 0.5])


def derivatives(function: Any, order: int) -> list[np.ndarray]:
    x = flow.tensor(VALUES, requires_grad=True)
    found = [function(x)]
    for _ in range(order):
        found += flow.autograd.grad(found[-1].sum(), x, create_graph=True)
    return [each.numpy() for each in found]


@pytest.mark.thorough
def test_higher_derivatives() -> None:
    for derivative in derivatives(exp, 4):
        np.testing.assert_allclose(derivative, np.exp(VALUES), rtol=1e-12)


def test_second_derivatives_of_an_op_that_is_defined_in_python(tmp_path: Path) -> None:
    pykernels.load_ops(write_op(tmp_path, "squares", SQUARES, SQUARES_PROP))
    try:
        x, w = np.arange(6.0).reshape(2, 3), VALUES
        tensors = [flow.tensor(each, requires_grad=True) for each in (x, w)]
        builder = pykernels.user_op_builder("squares").Op("squares_forward").Output("y").Attr("scale", 1.5)
        y = builder.Input("x", tensors[:1]).Input("w", tensors[1:]).Build().InferAndTryRun().SoleOutputBlob()
        dx, dw = flow.autograd.grad(y.sum(), tensors, create_graph=True)
        gx, gw = flow.autograd.grad((dx * dx).sum() + dw.sum(), tensors)
        np.testing.assert_allclose(gx.numpy(), 18 * w * w * x + 3 * x, rtol=1e-12)
        np.testing.assert_allclose(gw.numpy(), (18 * w * x * x).sum(axis=0), rtol=1e-12)
    finally:
        pykernels.unload_ops("squares")


def test_derivatives_of_what_nobody_keeps() -> None:
    """The inner results are gone by the time that their gradients are computed."""
    e = np.exp(VALUES)
    first = e * np.exp(e)
    expected = [np.exp(e), first, first * (1 + e), first * (1 + 3 * e + e * e)]
    for found, wanted in zip(derivatives(lambda x: exp(exp(x)), 3), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_same_input_twice_and_unused_outputs() -> None:
    x = flow.tensor(VALUES, requires_grad=True)
    y = exp(x) * exp(x) + x
    exp(y)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * VALUES) + 1, rtol=1e-12)


def test_inputs_that_need_no_gradient_get_none() -> None:
    x, z = flow.tensor(VALUES), flow.tensor(VALUES, requires_grad=True)
    (exp(x) * exp(z)).sum().backward()
    assert x.grad is None
    np.testing.assert_allclose(z.grad.numpy(), np.exp(2 * VALUES), rtol=1e-12)


def test_a_call_that_is_never_differentiated_keeps_no_memory() -> None:
    x = flow.ones(1 << 20, requires_grad=True)
    exp(x).sum().numpy()
    before = resident()
    for _ in range(100):
        y = exp(x)
    del y
    flow._oneflow_internal.eager.Sync()
    assert resident() - before < 100 << 20  # a quarter of what all results take


def resident() -> int:
    """The memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_grad() -> None:
    x = flow.tensor(VALUES, requires_grad=True)
    with flow.no_grad():
        assert not exp(x).requires_grad
    assert exp(x).requires_grad
