"""Benchmark ONNX Runtime's own ops, as models of one node. ONNX Runtime computes no gradients."""

from __future__ import annotations

import importlib
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.define.definition import OpDef
from pykernels.frameworks.timing import Timer

#: ``(**attributes) -> type of the node, its attributes``.
OPS: dict[str, Callable[..., tuple[str, dict[str, Any]]]] = {
    "dense": lambda **_: ("Gemm", {"transB": 1}),
    "layer_norm": lambda axis, eps: ("LayerNormalization", {"axis": axis, "epsilon": eps}),
    "leaky_relu": lambda alpha: ("LeakyRelu", {"alpha": alpha}),
    "relu": lambda: ("Relu", {}),
    "sigmoid": lambda: ("Sigmoid", {}),
    "softmax": lambda axis: ("Softmax", {"axis": axis}),
    "tanh": lambda: ("Tanh", {}),
    "tensor_negate": lambda: ("Neg", {}),
}


def timers(
    function: Callable[..., tuple[str, dict[str, Any]]],
    op: OpDef,
    arrays: Sequence[np.ndarray],
    attributes: Mapping[str, Any],
) -> tuple[Timer, None]:
    """Return a timer for an op, and None for its gradient."""
    onnxruntime, helper = importlib.import_module("onnxruntime"), importlib.import_module("onnx.helper")
    type_name, given = function(**attributes)
    inputs = {f"x{i}": array for i, array in enumerate(arrays)}
    node = helper.make_node(type_name, list(inputs), ["y"], **given)
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    graph = helper.make_graph(
        [node],
        type_name,
        [helper.make_tensor_value_info(name, kind, inputs[name].shape) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("y", kinds["x0"], None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return timeit.Timer(lambda: session.run(None, inputs)).timeit, None
