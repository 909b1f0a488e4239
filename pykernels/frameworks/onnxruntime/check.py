"""Check an op in ONNX Runtime: its node and the nodes of its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import helper

from pykernels.frameworks.case import Case, NodeCase, Outcome, Way, strided
from pykernels.frameworks.comparison import difference
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.frameworks.onnxruntime.sessions import session_options
from pykernels.load import discovery


def takes(case: Case) -> bool:
    """Whether a case has input values and outputs, and tests more than the other frameworks do."""
    return bool(case.counts) and not case.function and not case.dtypes & {"complex64", "complex128"}


def ways(case: Case) -> dict[str, Way]:
    """Return the ways to call an op in ONNX Runtime; the first node is the op itself."""
    forward, *others = case.nodes
    if case.is_strided:
        return {"node of strided arrays": lambda: Outcome(_run(forward, is_strided=True), {}, is_train=False)}
    found: dict[str, Way] = {"node": lambda: Outcome(_run(forward), {}, is_train=False)}
    for node in others:
        found[f"node {node.op_type}"] = lambda node=node: _checked(case, node)  # type: ignore[misc]
    return found


def _checked(case: Case, node: NodeCase) -> Outcome:
    """Check the outputs of a gradient's node, then return the expected outcome of the op."""
    for number, (found, wanted) in enumerate(zip(_run(node), node.outputs)):
        problem = difference(f"output {number}", found, wanted)
        if problem:
            raise AssertionError(problem)
    return case.expected[False]


def _run(node: NodeCase, *, is_strided: bool = False) -> list[np.ndarray]:
    module = discovery.find_op(node.op_type)
    names = {op.name: name for name, op in node_names(module)}
    arrays = {f"x{i}": array for i, array in enumerate(a for group in node.inputs for a in group)}
    names_left = iter(arrays)
    # A name for each tensor in turn; an argument that is left out has an empty name.
    inputs = [name for group in node.inputs for name in ([next(names_left) for _ in group] or [""])]
    outputs = [f"y{i}" for i in range(sum(node.counts))]
    model = _model(names[node.op_type], inputs, outputs, arrays, node)
    options = session_options(module.name)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {name: strided(array) if is_strided else array for name, array in arrays.items()}
    return list(session.run(None, given))


def _model(name: NodeName, inputs: list[str], outputs: list[str], arrays: dict[str, np.ndarray], node: NodeCase) -> Any:
    made = helper.make_node(name.op_type, inputs, outputs, domain=name.domain, **node.attributes)
    results = zip(outputs, (array.dtype for array in node.outputs))
    graph = helper.make_graph(
        [made],
        "check",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), None) for n, a in arrays.items()],
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(dtype), None) for n, dtype in results],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(name.domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
