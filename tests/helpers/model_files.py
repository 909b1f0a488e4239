"""Models with a custom op of PopRT's guide."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import TensorProto, helper


def guide_model(*, op: str = "LeakyRelu", opset: int = 11, shape: Any = (8, 8), **attributes: Any) -> onnx.ModelProto:
    """LeakyRelu, then Relu: X -> Y -> Z."""
    node = helper.make_node(op, ["X"], ["Y"], domain="ai.graphcore", **(attributes or {"alpha": 0.01}))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "XZ"]
    graph = helper.make_graph([node, helper.make_node("Relu", ["Y"], ["Z"])], "graph", values[:1], values[1:])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.graphcore", 1)]
    return helper.make_model(graph, opset_imports=imports)


def leaky_model(shape: Any = (8, 8), **attributes: Any) -> onnx.ModelProto:
    """LeakyRelu, then Neg, so that what the custom op makes of negative numbers is seen."""
    model = guide_model(shape=shape, **attributes)
    model.graph.node[1].op_type = "Neg"
    return model
