"""Gradients in Python definitions: what they depend on, and which inputs have one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from definitions import F64, I32, infer, spec

from pykernels.base.abi import OpFlag
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.definition import NOT_KNOWN_YET, Definition
from pykernels.define.python_def import load_python_def


def _load(folder: Path, text: str) -> Definition:
    path = folder / "op_py_def.py"
    path.write_text("import pykernels\n" + textwrap.dedent(text))
    return load_python_def(path, "op")


ROW_SUM = """
    class RowSum(pykernels.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0][:1]]
        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return out_grad
"""


def test_the_gradient_receives_the_types_that_it_does_not_depend_on(tmp_path: Path) -> None:
    forward, backward = _load(tmp_path, ROW_SUM).ops.values()
    planned = forward.plan_gradient([[spec(3, 4)]], {}, outputs=[[spec(3)]]).ops[0]
    assert planned.inputs == (("doutput", "D/output/0"),)
    assert backward.infer([[spec(3)]], backward.parse_attributes(planned.attributes)) == [[spec(3, 4)]]
    single = forward.plan_gradient([[spec(5, 0, 2, dtype=F64)]], {}, outputs=[[spec(5, dtype=F64)]]).ops[0]
    assert backward.infer([[spec(5, dtype=F64)]], backward.parse_attributes(single.attributes)) == [
        [spec(5, 0, 2, dtype=F64)]
    ]
    # As a node of ONNX Runtime it serves for all dtypes.
    assert backward.infer([[spec(3, dtype=F64)]], backward.parse_attributes(planned.attributes)) == [
        [spec(3, 4, dtype=F64)]
    ]
    with pytest.raises(DefinitionError, match=NOT_KNOWN_YET):
        forward.plan_gradient(None, {})
    # By itself the op of the gradient cannot infer it: (3, 2) would do as well.
    with pytest.raises(DefinitionError, match="shape of the gradient of 'data' cannot be inferred .* return the input"):
        infer(backward, spec(3))


def test_types_that_follow_from_others_are_inferred_from_them(tmp_path: Path) -> None:
    """So that the gradient is the same for all shapes, symbolic ones included."""
    forward, backward = _load(
        tmp_path,
        """
        class AddRow(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["x", "row"]
            def infer_shape(self, in_shape):
                return [in_shape[0], in_shape[0][1:]], [in_shape[0]]
            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return [*out_grad, in_data[0]]
        """,
    ).ops.values()
    planned = forward.plan_gradient(None, {}).ops[0]
    attributes = backward.parse_attributes(planned.attributes)
    assert backward.infer([[spec(3, 4)], [spec(3, 4)]], attributes) == [[spec(3, 4)], [spec(4)]]


def test_a_class_that_fails_where_shapes_are_unknown(tmp_path: Path) -> None:
    """As those of MXNet's examples do, whose gradient depends on the labels and the output."""
    forward, backward = _load(
        tmp_path,
        """
        class Softmax(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["data", "label"]
            def infer_shape(self, in_shape):
                return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []
            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return [in_data[1], out_data[0]]
        """,
    ).ops.values()
    planned = forward.plan_gradient([[spec(3, 4)], [spec(3)]], {}, outputs=[[spec(3, 4)]]).ops[0]
    attributes = backward.parse_attributes(planned.attributes)
    assert backward.infer([[spec(3)], [spec(3, 4)]], attributes) == [[spec(3, 4)], [spec(3)]]
    with pytest.raises(DefinitionError, match="the gradient of 'data' cannot be inferred .* return the input, too"):
        infer(backward, spec(3), spec(3, 4))


def test_an_input_of_another_dtype_than_the_output(tmp_path: Path) -> None:
    forward, backward = _load(
        tmp_path,
        """
        import numpy as np

        class Widen(pykernels.CustomOpProp):
            def infer_type(self, in_type):
                return in_type, [np.float64], []
            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return out_grad
        """,
    ).ops.values()
    planned = forward.plan_gradient([[spec(3)]], {}, outputs=[[spec(3, dtype=F64)]]).ops[0]
    assert backward.infer([[spec(3, dtype=F64)]], backward.parse_attributes(planned.attributes)) == [[spec(3)]]


def _with_gradients(names: list[str]) -> str:
    return f"""
        class Pick(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["data", "index", "weight"]
            def list_gradients(self):
                return {names}
    """


def test_inputs_without_a_gradient(tmp_path: Path) -> None:
    forward, backward = _load(tmp_path, _with_gradients(["weight", "data"])).ops.values()
    assert [argument.name for argument in backward.outputs] == ["ddata", "dweight"]
    assert [argument.name for argument in backward.inputs] == ["doutput", "data", "index", "weight", "output"]
    assert infer(backward, *[spec(3)] * 5) == [[spec(3)], [spec(3)]]
    assert set(forward.plan_gradient(None, {}).bindings) == {("data", 0), ("weight", 0)}


def test_an_op_without_a_gradient(tmp_path: Path) -> None:
    (forward,) = _load(tmp_path, _with_gradients([])).ops.values()
    assert OpFlag.NO_GRADIENT in forward.flags
    assert forward.gradient is None


def test_a_gradient_of_what_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as error:
        _load(tmp_path, _with_gradients(["data", "dta"]))
    assert "returned ['data', 'dta'], but 'dta' is not an input; the inputs are data, index, weight" in str(error.value)


SCALED_ROWS = """
    class ScaledRows(pykernels.CustomOpProp):
        arguments = ["x", "w", "rows"]
        outputs = ["y"]
        dtypes = {"x": "floating", "w": "floating", "rows": "integer"}
        backward = "w, dy -> dx, dw"
        backward_backward = "w, dy, gdx, gdw -> gw, gdy"
        tangent = "x, w, tx, tw, rows -> ty"
        backward_tangent = "w, dy, tw, tdy -> tdx, tdw"
        def infer_shape(self, in_shape):
            x, w, (n,) = in_shape
            return [x, x[1:], [n]], [[n, *x[1:]]]
"""


def test_derivatives_of_derivatives(tmp_path: Path) -> None:
    ops = _load(tmp_path, SCALED_ROWS).ops
    assert [each.removeprefix("op_") for each in ops] == [
        "forward",
        "backward",
        "backward_backward",
        "tangent",
        "backward_tangent",
    ]
    forward, backward, second, tangent, along = ops.values()
    x, w, rows, y = [spec(5, 3)], [spec(3)], [spec(2, dtype=I32)], [spec(2, 3)]
    planned = forward.plan_gradient([x, w, rows], {}, outputs=[y])
    attributes = backward.parse_attributes(planned.ops[0].attributes)
    assert set(attributes) == {"type_of_x", "type_of_rows"}
    assert backward.infer([w, y], attributes) == [x, w]
    # The gradient of the gradient receives the same types.
    plan = backward.plan_gradient([w, y], attributes, outputs=[x, w], name="here")
    assert plan.bindings == {("w", 0): "here_grad/gw_0", ("dy", 0): "here_grad/gdy_0"}
    assert plan.ops[0].type == "op_backward_backward" and plan.ops[0].attributes == attributes
    assert plan.ops[0].inputs == (("w", "I/w/0"), ("dy", "I/dy/0"), ("gdx", "D/dx/0"), ("gdw", "D/dw/0"))
    assert second.infer([w, y, x, w], attributes) == [w, y]
    assert second.gradient is tangent.gradient is along.gradient is None
    assert tangent.infer([x, w, x, w, rows], {}) == [y]
    assert along.infer([w, y, w, y], attributes) == [x, w]
    with pytest.raises(CallError, match=r"'tx' has shape \(4, 3\), but the input 'x' has shape \(5, 3\)"):
        tangent.infer([x, w, [spec(4, 3)], w, rows], {})


def test_a_tangent_whose_shape_cannot_be_inferred(tmp_path: Path) -> None:
    tangent = _load(tmp_path, SCALED_ROWS.replace("tx, tw, rows ->", "tx, tw ->")).ops["op_tangent"]
    message = r"'rows' cannot be inferred from what tangent depends on \(x, w, tx, tw\); add rows before '->'"
    with pytest.raises(DefinitionError, match=message):
        tangent.infer([[spec(5, 3)], [spec(3)], [spec(5, 3)], [spec(3)]], {})
