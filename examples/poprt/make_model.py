"""Write model.onnx: SoftThreshold, then a sum over each row."""

import onnx
from onnx import TensorProto, helper

nodes = [
    helper.make_node("SoftThreshold", ["x"], ["pulled"], domain="ai.graphcore", threshold=0.25),
    helper.make_node("ReduceSum", ["pulled"], ["y"], axes=[1], keepdims=0),
]
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
opsets = [helper.make_opsetid("", 11), helper.make_opsetid("ai.graphcore", 1)]
model = helper.make_model(helper.make_graph(nodes, "soft_threshold", [x], [y]), opset_imports=opsets)
onnx.checker.check_model(model)
onnx.save(model, "model.onnx")
