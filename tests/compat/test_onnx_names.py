"""ONNX with the module that it has removed."""

from __future__ import annotations

import numpy as np
import pytest

from pykernels.compat.onnx_names import mapping, old_onnx

onnx = pytest.importorskip("onnx", reason="ONNX is not installed")


def test_dtypes_and_numbers() -> None:
    numbers, dtypes = mapping().NP_TYPE_TO_TENSOR_TYPE, mapping().TENSOR_TYPE_TO_NP_TYPE
    assert numbers[np.dtype("float16")] == onnx.TensorProto.FLOAT16
    assert {number: dtypes[number] for number in numbers.values()} == {value: key for key, value in numbers.items()}


def test_what_onnx_has_is_the_same() -> None:
    assert old_onnx().mapping is mapping()
    assert (old_onnx().helper, old_onnx().TensorProto) == (onnx.helper, onnx.TensorProto)
