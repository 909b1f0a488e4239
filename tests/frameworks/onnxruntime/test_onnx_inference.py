"""Shape inference of models with our nodes, and ONNX's reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models import feed, model_of, one_node, value
from onnx import helper
from onnx.reference import ReferenceEvaluator

import pykernels.onnx
from pykernels.base.errors import CallError

pytestmark = pytest.mark.usefixtures("shipped")


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, domain="pykernels", **attributes)


def shapes(model: onnx.ModelProto) -> dict[str, tuple[str, list[Any] | None]]:
    """The dtype and shape of every tensor that is neither an input nor an output."""
    found = {}
    for info in pykernels.onnx.infer_shapes(model).graph.value_info:
        tensor = info.type.tensor_type
        dims = [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in tensor.shape.dim]
        dtype = str(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        found[info.name] = (dtype, dims if tensor.HasField("shape") else None)
    return found


def chain(shape: list[Any] | None, dtype: str = "float32") -> onnx.ModelProto:
    """Softmax of ours between nodes of ONNX's own."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        node("softmax", ["a"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
        node("leaky_relu", ["c"], ["d"], alpha=0.5),
        helper.make_node("Neg", ["d"], ["y"]),
    ]
    return model_of(nodes, [value("x", dtype, shape)], [value("y", dtype)])


def test_shapes_pass_through_our_nodes() -> None:
    assert shapes(chain([2, 3])) == {
        "a": ("float32", [2, 3]),
        "b": ("float32", [2, 3]),
        "c": ("float32", [3, 2]),
        "d": ("float32", [3, 2]),
    }


def test_dimensions_keep_their_names() -> None:
    inferred = shapes(chain(["batch", 3], "float64"))
    assert inferred["b"] == ("float64", ["batch", 3])
    assert inferred["d"] == ("float64", [3, "batch"])


def test_without_ranks_there_are_dtypes() -> None:
    nodes = [node("leaky_relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    model = model_of(nodes, [value("x", "float16")], [value("y", "float16")])
    assert shapes(model)["a"] == ("float16", None)


def test_dimensions_that_an_attribute_sets_are_known() -> None:
    nodes = [
        node("roi_align", ["x", "rois"], ["a"], pooled_height=3, pooled_width=2),
        helper.make_node("Neg", ["a"], ["y"]),
    ]
    inputs = [value("x", "float32", ["n", 4, "h", "w"]), value("rois", "float32", ["r", 5])]
    assert shapes(model_of(nodes, inputs, [value("y", "float32")]))["a"] == ("float32", ["r", 4, 3, 2])


def test_inputs_that_the_definition_refuses_are_reported() -> None:
    bad = [node("leaky_relu_backward", ["x", "dy"], ["dx"], name="wrong")]
    model = model_of(bad, [value("x", "float32", [2, 3]), value("dy", "float32", [3, 2])], [value("dx", "float32")])
    model.graph.output[0].type.tensor_type.ClearField("elem_type")
    with pytest.raises(CallError, match=r"node 'wrong' \(pykernels::leaky_relu_backward\): .* dy must have the shape"):
        pykernels.onnx.infer_shapes(model)


def test_graphs_inside_nodes_are_inferred_too() -> None:
    inner = helper.make_graph(
        [node("softmax", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["z"])], "inner", [], [value("z", "float32")]
    )
    branch = helper.make_node("If", ["condition"], ["y"], then_branch=inner, else_branch=inner)
    inputs = [value("condition", "bool", []), value("x", "float32", [2, 3])]
    inferred = pykernels.onnx.infer_shapes(model_of([branch], inputs, [value("y", "float32")]))
    (info,) = [v for v in inferred.graph.node[0].attribute[0].g.value_info if v.name == "t"]
    assert [d.dim_value for d in info.type.tensor_type.shape.dim] == [2, 3]


def test_the_reference_evaluator_knows_our_nodes() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    model = chain(["n", 3])
    (expected,) = onnxruntime.InferenceSession(
        model.SerializeToString(), pykernels.onnx.session_options("softmax", "leaky_relu")
    ).run(None, {"x": x})
    evaluator = ReferenceEvaluator(model, new_ops=pykernels.onnx.reference_ops())
    np.testing.assert_allclose(evaluator.run(None, {"x": x})[0], expected, rtol=1e-6)


def test_the_reference_evaluator_runs_several_outputs_and_states() -> None:
    logits, labels = np.random.default_rng(0).normal(size=(4, 3)).astype("float32"), np.array([0, 2, 1, 1])
    model = one_node("softmax_cross_entropy", [logits, labels], ["float32", "float32"])
    session = pykernels.onnx.session(model)
    evaluator = ReferenceEvaluator(model, new_ops=pykernels.onnx.reference_ops("softmax_cross_entropy"))
    inputs = feed([logits, labels])
    for result, expected in zip(evaluator.run(None, inputs), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5)
