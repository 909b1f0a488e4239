"""Small models of our nodes, and what ONNX Runtime makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.helper import np_dtype_to_tensor_dtype

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("pykernels", 1)]


def value(name: str, dtype: Any, shape: Sequence[Any] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def model_of(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=9)


def one_node(op: str, inputs: Sequence[np.ndarray], outputs: Sequence[Any], **attributes: Any) -> onnx.ModelProto:
    """A model of one node, for inputs of these dtypes and any shape; `outputs` are the dtypes of its outputs."""
    givens = [value(f"x{i}", x.dtype) for i, x in enumerate(inputs)]
    results = [value(f"y{i}", dtype) for i, dtype in enumerate(outputs)]
    names = [[v.name for v in values] for values in (givens, results)]
    return model_of([helper.make_node(op, *names, domain="pykernels", **attributes)], givens, results)


def feed(inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"x{i}": x for i, x in enumerate(inputs)}
