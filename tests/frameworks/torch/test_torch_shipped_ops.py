"""The shipped ops on PyTorch's tensors: what the plain NumPy run computes, for every layout and mode of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from cases import CASES, Case
from shipped import ONE_EACH, dtype_of, function_of, tensors_of, variables, weighted_sum
from steps import forward_step

from pykernels.base.errors import PykernelsError

TOLERANCES = {"float16": 5e-3, "float32": 3e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_plain_numpy_run(ops: Any, case: Case, dtype: str) -> None:
    if dtype not in case.dtypes:
        pytest.skip(f"not compared in {dtype}")
    results = function_of(ops, case)(*tensors_of(case, dtype, grad=False))
    expected = forward_step(case, dtype).run_plain()
    assert [(str(y.dtype), tuple(y.shape)) for y in results] == [(f"torch.{e.dtype}", e.shape) for e in expected]
    for y, e in zip(results, expected):
        np.testing.assert_allclose(y.numpy(), e, TOLERANCES[dtype], TOLERANCES[dtype])


@pytest.mark.parametrize(
    ("call", "built_in"),
    [
        (lambda ops, x: ops.sigmoid(x), torch.sigmoid),
        (lambda ops, x: ops.tanh(x), torch.tanh),
        (lambda ops, x: ops.leaky_relu(x, 0.3), lambda x: torch.nn.functional.leaky_relu(x, 0.3)),
        (lambda ops, x: ops.softmax(x, axis=1), lambda x: torch.softmax(x, 1)),
        (
            lambda ops, x: ops.layer_norm(x, torch.ones(4), torch.zeros(4)),
            lambda x: torch.nn.functional.layer_norm(x, [4]),
        ),
        (lambda ops, x: ops.dense(x[0], x[1]), lambda x: torch.nn.functional.linear(x[0], x[1])),
    ],
)
def test_equals_pytorchs_own_with_its_gradient(ops: Any, call: Any, built_in: Any) -> None:
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ours, theirs = call(ops, x), built_in(x)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(weighted_sum([y]), x)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_strided_inputs(ops: Any, case: Case) -> None:
    tensors = tensors_of(case, grad=False)
    strided = [torch.stack([x, x], dim=-1)[..., 0] for x in tensors]
    assert not any(x.is_contiguous() for x in strided if x.numel() > 1)
    run = function_of(ops, case)
    torch.testing.assert_close(run(*strided), run(*tensors), rtol=0, atol=0)


def numbers_and_empty_tensors(case: Case) -> Iterator[list[torch.Tensor]]:
    """In place of all the inputs of a case, and of each of them."""
    tensors = tensors_of(case, grad=False)
    yield [x.new_full((), 0.5) for x in tensors]
    yield [x[:0] for x in tensors]
    yield [x[..., :0] for x in tensors]
    for at, x in enumerate(tensors):
        for other in (x.new_full((), 0.5), x[:0], x[..., :0]):
            yield [*tensors[:at], other, *tensors[at + 1 :]]


# The mean over an axis without elements, in rows without elements.
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_numbers_and_empty_tensors(ops: Any, case: Case) -> None:
    """What the plain NumPy run computes, with gradients; or a refusal that names the line of what refuses."""
    run, step = function_of(ops, case), forward_step(case, dtype_of(case))
    for tensors in numbers_and_empty_tensors(case):
        try:
            expected = replace(step, inputs=[x.numpy() for x in tensors]).run_plain()
        except PykernelsError:
            with pytest.raises(
                RuntimeError, match=rf"^op '?{case.op}_forward'?.*{case.op}_(cpp_def.cpp|py_kernel.py):\d+"
            ):
                run(*tensors)
            continue
        for which in case.variables:
            tensors[which] = tensors[which].clone().requires_grad_()
        results = run(*tensors)
        assert [tuple(y.shape) for y in results] == [e.shape for e in expected]
        for y, e in zip(results, expected):
            np.testing.assert_allclose(y.detach().numpy(), e, 1e-12, 1e-12)
        if any(y.requires_grad for y in results):
            assert torch.autograd.gradcheck(lambda *xs: variables(run(*xs)), tensors)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 8])
def test_many_axes_and_none(ops: Any, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 0.5, requires_grad=True)
    y = ops.leaky_relu(x)
    y.backward(torch.ones(shape))
    assert y.shape == x.shape == x.grad.shape


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_in_inference_mode(ops: Any, case: Case) -> None:
    run = function_of(ops, case)
    expected = run(*tensors_of(case, grad=False))
    with torch.inference_mode():
        results = run(*tensors_of(case, grad=False))
    assert all(y.is_inference() for y in results)
    torch.testing.assert_close(results, expected, rtol=0, atol=0)


def in_bfloat16(case: Case) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The inputs of a case in bfloat16, and the same numbers in float32."""
    lower = [x.bfloat16() if x.dtype == torch.float32 else x for x in tensors_of(case, "float32", grad=False)]
    upper = [x.float() if x.dtype == torch.bfloat16 else x.clone() for x in lower]
    for which in case.variables:
        lower[which].requires_grad_()
        upper[which].requires_grad_()
    return lower, upper


def rounded(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().bfloat16() if x.dtype == torch.float32 else x.detach() for x in tensors]


@pytest.mark.parametrize("autocast", [False, True], ids=["", "autocast"])
@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_bfloat16_is_computed_in_float32(ops: Any, case: Case, autocast: bool) -> None:
    lower, upper = in_bfloat16(case)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        results = function_of(ops, case)(*lower)
    expected = function_of(ops, case)(*upper)
    torch.testing.assert_close([y.detach() for y in results], rounded(expected), rtol=0, atol=0)
    if case.variables:
        weighted_sum(results).backward()
        weighted_sum(expected).backward()
        found, wanted = ([tensors[which].grad for which in case.variables] for tensors in (lower, upper))
        torch.testing.assert_close(found, rounded(wanted), rtol=0.02, atol=0.02)


def test_autocast_computes_in_float32_if_dtypes_differ(ops: Any) -> None:
    data, weight = torch.randn(3, 4).bfloat16(), torch.randn(2, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = ops.dense(data, weight)
    torch.testing.assert_close(y, ops.dense(data.float(), weight), rtol=0, atol=0)
    y.sum().backward()
    assert weight.grad.dtype == torch.float32


def test_tensors_of_a_view_that_is_not_written_out(ops: Any) -> None:
    x = torch.complex(torch.randn(4), torch.randn(4))
    torch.testing.assert_close(ops.sigmoid(x.conj().imag), torch.sigmoid(x.conj().imag))


def test_large_tensors_are_shared_out_among_threads(ops: Any) -> None:
    x = torch.randn(1 << 20, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            results.append(ops.sigmoid(x))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], torch.sigmoid(x))
