"""`pykernels.testing`: an operator of PyTorch beside an op folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from neuron_libraries import surface

import pykernels
from pykernels.base import paths
from pykernels.testing import assert_same_op

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

X = torch.tensor([[1.0, -2.0, 0.5]])


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS / "tensor_negate", paths.OPS / "leaky_relu")
    yield
    pykernels.unload_ops()


def test_the_same_op() -> None:
    assert_same_op(surface().negate, "tensor_negate", X)
    assert_same_op(surface().negate, "tensor_negate", X.double())
    leaky_relu = pykernels.list_ops()["leaky_relu"].api.leaky_relu
    assert_same_op(lambda x: torch.nn.functional.leaky_relu(x, 0.3), lambda x: leaky_relu(x, alpha=0.3), X)


def test_differences_from_another_op_are_reported() -> None:
    with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
        assert_same_op(surface().same, "tensor_negate", X)
    with pytest.raises(
        AssertionError, match=r"output 0 of the operator is float64 \(1, 3\), but that of the op folder is f"
    ):
        assert_same_op(lambda x: -x.double(), "tensor_negate", X)
    with pytest.raises(
        AssertionError, match=r"output 0 of the operator is inferred as float32 \(3,\), but that of the op"
    ):
        assert_same_op(lambda x: -x[0] if x.is_meta else -x, "tensor_negate", X)
    with pytest.raises(AssertionError, match="the operator has 2 outputs, but the op folder has 1"):
        assert_same_op(lambda x: (x, x), "tensor_negate", X)
