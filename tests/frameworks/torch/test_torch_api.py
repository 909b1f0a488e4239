"""The functions of API files, and the builder, on PyTorch's tensors; in what is compiled, too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cases import CASES, Case, outputs
from shipped import ONE_EACH, function_of, tensors_of, variables, weighted_sum

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError

TAKES_IS_TRAIN = {"dropout"}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    pykernels.load_ops(paths.OPS)


def api(case: Case) -> Any:
    function = getattr(pykernels.list_ops()[case.op].api, case.op)
    return lambda *tensors: outputs(function(*tensors, **case.attributes))


@pytest.mark.parametrize("case", [case for case in CASES if case.op not in TAKES_IS_TRAIN], ids=str)
def test_equal_to_the_operators(case: Case) -> None:
    ours, theirs = tensors_of(case), tensors_of(case)
    results, expected = api(case)(*ours), function_of(torch.ops.pykernels, case)(*theirs)
    torch.testing.assert_close(results, expected, rtol=0, atol=0)
    if case.variables:
        weighted_sum(results).backward()
        weighted_sum(expected).backward()
        torch.testing.assert_close([x.grad for x in variables(ours)], [x.grad for x in variables(theirs)])


FOLLOWED = ("sigmoid", "dense", "leaky_relu", "softmax_cross_entropy", "nms")


@pytest.mark.thorough
@pytest.mark.parametrize("case", [case for case in ONE_EACH if case.op in FOLLOWED], ids=str)
def test_compiled_once_they_have_been_called(case: Case) -> None:
    torch._dynamo.reset()
    expected = api(case)(*tensors_of(case))
    compiled = torch.compile(api(case), fullgraph=True, dynamic=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*tensors_of(case)), expected, rtol=0, atol=0)


def test_training_is_not_known_in_what_is_compiled() -> None:
    torch._dynamo.reset()
    dropout = pykernels.list_ops()["dropout"].api.dropout
    x = torch.ones(4)
    dropout(x)
    with pytest.raises(Exception, match=r"call the operator of torch.ops with is_train="):
        torch.compile(dropout, fullgraph=True, backend="aot_eager")(x)


def test_frameworks_do_not_mix() -> None:
    with pytest.raises(CallError, match="its inputs belong to different frameworks: numpy, torch"):
        pykernels.list_ops()["dense"].api.dense(torch.ones(2, 3), torch.ones(2, 3).numpy())


def test_parameters_and_subclasses_are_tensors() -> None:
    relu = pykernels.list_ops()["relu"].api.relu
    assert relu(torch.nn.Parameter(torch.tensor([-1.0, 2]))).tolist() == [0, 2]
    assert relu(torch.nn.Buffer(torch.tensor([-1.0, 2]))).tolist() == [0, 2]
