"""Definitions written as a `CustomOpProp`, and the C++ definitions that they are equal to."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from definitions import F32, F64, I32, UNKNOWN, infer, line_of, load, spec
from sbp import Split, signatures

from pykernels.base import dtypes
from pykernels.base.abi import AttrType, OpFlag
from pykernels.base.errors import CallError, DefinitionError, LoadError
from pykernels.define.definition import Definition
from pykernels.define.instance import TensorSpec
from pykernels.define.python_def import load_python_def

IMPORTS = "import numpy as np\nimport pykernels\nfrom pykernels.base.abi import AttrType\n"


def _write(folder: Path, text: str) -> Path:
    path = folder / "op_py_def.py"
    path.write_text(IMPORTS + textwrap.dedent(text))
    return path


def _load(folder: Path, text: str) -> Definition:
    return load_python_def(_write(folder, text), "op")


def _refused(folder: Path, text: str) -> str:
    with pytest.raises((DefinitionError, LoadError)) as error:
        _load(folder, text)
    return str(error.value)


# ---- the same op in both languages

PYTHON = """
    class Scale(pykernels.CustomOpProp):
        def __init__(self, alpha: float = 0.5, times=2):
            super().__init__(need_top_grad=True)
            self.times = times

        def list_arguments(self):
            return ["x", "weight"]

        def list_outputs(self):
            return ["y"]

        def infer_shape(self, in_shape):
            x, weight = in_shape
            if len(x) != 2:
                raise ValueError(f"x must have 2 axes, but its shape is {tuple(x)}")
            return [x, [x[1]]], [[x[0], x[1] * self.times]], []

        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return [*in_data, out_grad[0]]
"""
CPP = """
Maybe<void> CheckShapes(user_op::InferContext* ctx) {
  const Shape& x = ctx->InputShape("x", 0);
  if (x.NumAxes() != 2) { return Error::RuntimeError() << "x must have 2 axes, but its shape is " << x; }
  CHECK_EQ_OR_RETURN(ctx->InputShape("weight", 0), Shape({x.At(1)}));
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("op_forward").Input("x").Input("weight").Output("y")
    .Attr<float>("alpha", 0.5).Attr<int64_t>("times", 2)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      JUST(CheckShapes(ctx));
      const Shape& x = ctx->InputShape("x", 0);
      ctx->SetOutputShape("y", 0, Shape({x.At(0), x.At(1) * ctx->Attr<int64_t>("times")}));
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType);
REGISTER_USER_OP("op_backward").Input("x").Input("weight").Input("dy").Output("dx").Output("dweight")
    .Attr<float>("alpha", 0.5).Attr<int64_t>("times", 2)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      JUST(CheckShapes(ctx));
      const Shape& x = ctx->InputShape("x", 0);
      CHECK_EQ_OR_RETURN(ctx->InputShape("dy", 0), Shape({x.At(0), x.At(1) * ctx->Attr<int64_t>("times")}));
      ctx->SetOutputShape("dx", 0, x);
      ctx->SetOutputShape("dweight", 0, ctx->InputShape("weight", 0));
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType);
REGISTER_USER_OP_GRAD("op_forward").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  auto& fw = ctx->FwOp();
  const auto name = fw.op_name() + "_grad";
  ctx->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("op_backward")
        .InputBind("x", fw.input("x", 0)).InputBind("weight", fw.input("weight", 0))
        .InputBind("dy", fw.output_grad("y", 0)).Output("dx").Output("dweight")
        .Attr("alpha", fw.attr<float>("alpha")).Attr("times", fw.attr<int64_t>("times")).Build();
  });
  fw.InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(name).output("dx", 0); });
  fw.InputGradBind(user_op::OpArg("weight", 0), [&] { return ctx->GetOp(name).output("dweight", 0); });
});
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Definition, Definition]:
    return _load(tmp_path_factory.mktemp("scale"), PYTHON), load("scale", CPP)


@pytest.mark.thorough
def test_both_languages_give_the_same_op(both: tuple[Definition, Definition]) -> None:
    python, cpp = both
    assert list(python.ops) == list(cpp.ops) == ["op_forward", "op_backward"]
    for mine, other in zip(python.ops.values(), cpp.ops.values(), strict=True):
        assert mine.schema() == other.schema()
        assert (mine.inputs, mine.outputs, mine.attributes) == (other.inputs, other.outputs, other.attributes)
        assert (mine.index, mine.gradient) == (other.index, other.gradient)
        assert mine.flags & ~OpFlag.INFERS_INPUTS == other.flags
    forward = python.ops["op_forward"]
    assert forward.schema() == "op_forward(x, weight, *, alpha: float = 0.5, times: int64 = 2) -> y"
    assert OpFlag.INFERS_INPUTS in forward.flags
    assert forward.line == line_of(forward.file, "class Scale")


def test_both_languages_infer_the_same(both: tuple[Definition, Definition]) -> None:
    for definition in both:
        forward, backward = definition.ops.values()
        assert infer(forward, spec(3, 4), spec(4), times=3) == [[spec(3, 12)]]
        assert infer(backward, spec(3, 4, dtype=F64), spec(4, dtype=F64), spec(3, 8, dtype=F64)) == [
            [spec(3, 4, dtype=F64)],
            [spec(4, dtype=F64)],
        ]
        with pytest.raises(CallError, match=r"x must have 2 axes, but its shape is \(3,\)"):
            infer(forward, spec(3), spec(3))
        for wrong in ((spec(3, 4), spec(5)), (spec(3, 4), spec(4, dtype=F64))):
            with pytest.raises(CallError, match="op op_forward: "):
                infer(forward, *wrong)
        with pytest.raises(CallError, match="op op_backward: "):
            infer(backward, spec(3, 4), spec(4), spec(3, 9))


def test_both_languages_plan_the_same_gradient(both: tuple[Definition, Definition]) -> None:
    python, cpp = (definition.ops["op_forward"] for definition in both)
    values = python.parse_attributes({"alpha": "0.1", "times": 3})
    for inputs in (None, [[spec(3, 4)], [spec(4)]]):
        plan = python.plan_gradient(inputs, values, name="here")
        assert plan == cpp.plan_gradient(inputs, values, name="here")
        assert plan.bindings == {("x", 0): "here_grad/dx_0", ("weight", 0): "here_grad/dweight_0"}
        assert plan.ops[0].attributes == {"alpha": 0.1, "times": 3}


# ---- defaults of the base class, and unknown inputs


def test_an_elementwise_op_needs_nothing_but_a_class(tmp_path: Path) -> None:
    definition = _load(tmp_path, "class Same(pykernels.CustomOpProp):\n    pass\n")
    forward, backward = definition.ops.values()
    assert forward.schema() == "op_forward(data) -> output"
    assert backward.schema() == "op_backward(doutput, data, output) -> ddata"
    assert infer(forward, spec(2, 0)) == [[spec(2, 0)]]
    assert infer(forward, spec()) == [[spec()]]
    assert infer(backward, *[spec(2, dtype=F64)] * 3) == [[spec(2, dtype=F64)]]
    assert signatures(forward, [[spec(2)]], {}) == []


def test_variables_say_what_methods_say(tmp_path: Path) -> None:
    definition = _load(
        tmp_path,
        """
        from typing import ClassVar

        class Base(pykernels.CustomOpProp):
            arguments = ["x", "labels"]
            outputs = ["y"]
            slope: float

        class Loss(Base):
            auxiliary_states = ["mean"]
            backward = "labels, dy, mean, y -> dx"
            slope: float = 0.5
            axes: "tuple[int, ...]" = (1, 2)
            mode: str
            count: ClassVar[int] = 3

            def infer_shape(self, in_shape):
                x, labels = in_shape
                assert (self.slope, self.mode, self.count) == (0.25, "far", 3)
                return [x, labels], [x[: len(self.axes)]], [x]
        """,
    )
    forward, backward = definition.ops["op_forward"], definition.ops["op_backward"]
    assert forward.schema() == (
        "op_forward(x, labels, mean!, *, slope: float = 0.5, axes: list[int64] = (1, 2), mode: string) -> y"
    )
    assert backward.schema().startswith("op_backward(labels, dy, mean, y, ")
    assert backward.schema().endswith(" -> dx")
    values = forward.parse_attributes({"slope": 0.25, "mode": "far"})
    x = TensorSpec((2, 3, 4), np.dtype(np.float32))
    assert forward.infer([[x], [x], [x]], values) == [[TensorSpec((2, 3), np.dtype(np.float32))]]


def test_words_for_dtypes(tmp_path: Path) -> None:
    text = """
        class Lookup(pykernels.CustomOpProp):
            arguments = ["w", "rows", "more"]
            outputs = ["y", "mask"]
            dtypes = {"rows": "integer", "w": "floating", "mask": "bool"}
    """
    forward, backward = _load(tmp_path, text).ops.values()
    rows = spec(2, dtype=I32)
    assert infer(forward, spec(2), rows, spec(2)) == [[spec(2)], [spec(2, dtype=np.dtype(bool))]]
    assert infer(backward, *[spec(2)] * 2, spec(2), rows, spec(2), spec(2), spec(2)) == [[spec(2)], [rows], [spec(2)]]
    completed, _ = forward.complete([[spec(2)], [rows], [UNKNOWN]], {})
    assert completed[2][0].dtype == F32
    with pytest.raises(CallError, match="'rows' has dtype float32, but must be integer"):
        infer(forward, spec(2), spec(2), spec(2))
    with pytest.raises(CallError, match="'w' has dtype int32, but must be floating"):
        infer(forward, rows, rows, rows)
    with pytest.raises(CallError, match="input 'more' has dtype float64, but infer_type wants float32"):
        infer(forward, spec(2), rows, spec(2, dtype=F64))


def test_floating_and_complex_numbers_have_one_precision(tmp_path: Path) -> None:
    text = """
        class Turn(pykernels.CustomOpProp):
            arguments = ["x", "angle"]
            outputs = ["y", "same"]
            dtypes = {"x": "inexact", "angle": "floating", "y": "complex", "same": "inexact"}
            def infer_shape(self, in_shape):
                return in_shape, [in_shape[0]] * 2, []
    """
    forward, backward = _load(tmp_path, text).ops.values()
    for real, numbers in (("float32", "complex64"), ("float64", "complex128")):
        x, z = spec(4, dtype=np.dtype(real)), spec(4, dtype=np.dtype(numbers))
        for given in (x, z):
            assert infer(forward, given, x) == [[z], [given]]
            assert infer(backward, z, given, given, x, z, given) == [[given], [x]]
    with pytest.raises(CallError, match="input 'angle' has dtype float64, but infer_type wants float32"):
        infer(forward, spec(4, dtype=np.dtype(np.complex64)), spec(4, dtype=F64))
    with pytest.raises(CallError, match="there are no complex numbers with the precision of float16"):
        infer(forward, *[spec(4, dtype=np.dtype(np.float16))] * 2)


def test_complex_numbers_are_for_definitions_that_name_them(tmp_path: Path) -> None:
    # With `infer_type` or without, a definition that does not look at dtypes does not accept them.
    z = spec(4, dtype=np.dtype(np.complex64))
    own = "\n        def infer_type(self, types):\n            return types, types[:1], []\n"
    for body in ("", own):
        text = f"class Cast(pykernels.CustomOpProp):\n        x = 1{body}"
        forward, _ = _load(tmp_path, text).ops.values()
        with pytest.raises(CallError, match='dtype complex64, and the definition does not name .* dtypes = "complex"'):
            infer(forward, z)
        text = f"class Cast(pykernels.CustomOpProp):\n        dtypes = 'complex64'{body}"
        forward, _ = _load(tmp_path, text).ops.values()
        assert infer(forward, z) == [[z]]


def test_one_word_for_all_dtypes(tmp_path: Path) -> None:
    (forward,) = _load(
        tmp_path, "class Cast(pykernels.CustomOpProp):\n        backward = None\n        dtypes = 'number'"
    ).ops.values()
    for dtype in ("bfloat16", "float16", "int8", "uint64"):
        assert infer(forward, spec(2, dtype=dtypes.find(dtype))) == [[spec(2, dtype=dtypes.find(dtype))]]
    with pytest.raises(CallError, match="'data' has dtype bool, but must be number"):
        infer(forward, spec(2, dtype=np.dtype(bool)))


def test_none_is_no_gradient(tmp_path: Path) -> None:
    definition = _load(tmp_path, "class Step(pykernels.CustomOpProp):\n        backward = None")
    assert list(definition.ops) == ["op_forward"]
    assert OpFlag.NO_GRADIENT in definition.ops["op_forward"].flags


def test_an_elementwise_op_can_be_split_along_each_axis(tmp_path: Path) -> None:
    text = """
        class Sum(pykernels.CustomOpProp):
            split_for_each_axis = True

            def list_arguments(self):
                return ["a", "b"]
    """
    forward, backward = _load(tmp_path, text).ops.values()
    assert forward.flags & backward.flags & OpFlag.HAS_SBP
    found = signatures(forward, [[spec(2, 3)], [spec(2, 3)]], {})
    assert found == [{(name, 0): Split(axis) for name in ("a", "b", "output")} for axis in range(2)]
    (signature,) = signatures(backward, [[spec(4)]] * 4, {})
    assert set(signature) == {(name, 0) for name in ("doutput", "a", "b", "output", "da", "db")}
    with pytest.raises(CallError, match=r"split_for_each_axis needs inputs with the same number of axes, .* \[1, 2\]"):
        signatures(forward, [[spec(2, 3)], [spec(3)]], {})


def test_unknown_inputs_are_completed(both: tuple[Definition, Definition]) -> None:
    forward = both[0].ops["op_forward"]
    completed, outputs = forward.complete([[spec(3, 4)], [UNKNOWN]], forward.parse_attributes({}))
    assert completed == [[spec(3, 4)], [spec(4)]]
    assert outputs == [[spec(3, 8)]]
    assert infer(forward, UNKNOWN, UNKNOWN) == [[UNKNOWN]]
    assert infer(forward, TensorSpec(None, F32), UNKNOWN) == [[TensorSpec(None, F32)]]


def test_what_infer_shape_does_not_complete_stays_unknown(tmp_path: Path) -> None:
    definition = _load(
        tmp_path,
        """
        class Pick(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["a", "b"]
            def infer_shape(self, in_shape):
                return in_shape, [in_shape[1]]
        """,
    )
    forward = definition.ops["op_forward"]
    assert infer(forward, spec(2), TensorSpec(None, F32)) == [[TensorSpec(None, F32)]]
    assert infer(forward, spec(2), spec()) == [[spec()]]


@pytest.mark.parametrize(
    ("dependency", "inputs"),
    [
        ("out_grad + out_data", ["dy", "y"]),
        ("out_data + out_grad", ["y", "dy"]),
        ("out_data", ["y"]),
        ("[out_grad[0], out_grad[0]]", ["dy"]),
    ],
)
def test_the_gradient_gets_what_it_depends_on_in_that_order(tmp_path: Path, dependency: str, inputs: list[str]) -> None:
    definition = _load(
        tmp_path,
        f"""
        class Sigmoid(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["x"]
            def list_outputs(self):
                return ["y"]
            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return {dependency}
        """,
    )
    forward, backward = definition.ops.values()
    assert [argument.name for argument in backward.inputs] == inputs
    # The input is not among them, so its shape follows from the output's.
    assert infer(backward, *[spec(2, 3)] * len(inputs)) == [[spec(2, 3)]]
    plan = forward.plan_gradient(None, {})
    assert plan.ops[0].inputs == tuple((name, {"dy": "D/y/0", "y": "O/y/0"}[name]) for name in inputs)


def test_without_the_gradients_of_the_outputs(tmp_path: Path) -> None:
    definition = _load(
        tmp_path,
        """
        class Loss(pykernels.CustomOpProp):
            def __init__(self):
                super().__init__(need_top_grad=False)
            def list_arguments(self):
                return ["data", "label"]
            def infer_shape(self, in_shape):
                return [in_shape[0], in_shape[0][:1]], [in_shape[0]], []
            def infer_type(self, in_type):
                return [in_type[0], np.int32], [in_type[0]], []
        """,
    )
    forward, backward = definition.ops.values()
    assert [argument.name for argument in backward.inputs] == ["data", "label", "output"]
    assert infer(forward, spec(3, 4), spec(3, dtype=I32)) == [[spec(3, 4)]]
    assert infer(backward, spec(3, 4), spec(3, dtype=I32), spec(3, 4)) == [[spec(3, 4)], [spec(3, dtype=I32)]]
    with pytest.raises(CallError, match="input 'label' has dtype float32, but infer_type wants int32"):
        infer(forward, spec(3, 4), spec(3))
    with pytest.raises(CallError, match=r"input 'label' has shape \(4,\), but infer_shape wants \(3,\)"):
        infer(forward, spec(3, 4), spec(4, dtype=I32))
    with pytest.raises(CallError, match=r"'output' has shape \(3,\), but the output 'output' has shape \(3, 4\)"):
        infer(backward, spec(3, 4), spec(3, dtype=I32), spec(3))


# ---- attributes


def test_attributes_are_the_parameters_of_the_constructor(tmp_path: Path) -> None:
    definition = load_python_def(_typed(tmp_path), "op")
    forward = definition.ops["op_forward"]
    assert {attribute.name: attribute.type for attribute in forward.attributes} == {
        "mode": AttrType.STRING,
        "flag": AttrType.BOOL,
        "n": AttrType.INT64,
        "alpha": AttrType.FLOAT,
        "name": AttrType.STRING,
        "dims": AttrType.LIST_INT64,
        "scales": AttrType.LIST_FLOAT,
        "shapes": AttrType.LIST_SHAPE,
        "dtype": AttrType.DTYPE,
        "rate": AttrType.FLOAT,
        "axes": AttrType.LIST_INT64,
        "words": AttrType.LIST_STRING,
        "kind": AttrType.DTYPE,
        "exact": AttrType.DOUBLE,
        "last": AttrType.BOOL,
    }
    assert [attribute.name for attribute in forward.attributes if attribute.required] == ["mode", "last"]
    assert infer(forward, spec(2), mode="m", last="0", dtype="float64", dims="7") == [[spec(2)]]


def _typed(folder: Path) -> Path:
    path = folder / "op_py_def.py"
    path.write_text(
        "from __future__ import annotations\n"
        + IMPORTS
        + textwrap.dedent(
            """
            class Typed(pykernels.CustomOpProp):
                def __init__(self, mode, flag=True, n=3, alpha=0.1, name="x", dims=(1, 2), scales=[0.5],
                             shapes=((1,), (2,)), dtype=np.float32, rate: float = 1, axes: tuple[int, ...] = (),
                             words: list[str] = (), kind: np.dtype = "int8", exact: AttrType.DOUBLE = 0.1,
                             *, last: bool):
                    super().__init__()
                    self.seen = (dtype, kind, dims, exact)

                def infer_shape(self, in_shape):
                    assert self.seen == (np.dtype("float64"), np.dtype("int8"), (7,), 0.1)
                    return in_shape, in_shape
            """
        )
    )
    return path


def test_a_constructor_that_refuses_sample_values_is_not_asked_for_names(tmp_path: Path) -> None:
    definition = _load(
        tmp_path,
        """
        class Mode(pykernels.CustomOpProp):
            def __init__(self, mode):
                super().__init__(need_top_grad=False)
                self.factor = {"half": 2, "whole": 1}[mode]
            def infer_shape(self, in_shape):
                return in_shape, [[in_shape[0][0] // self.factor]]
        """,
    )
    forward = definition.ops["op_forward"]
    assert infer(forward, spec(4), mode="half") == [[spec(2)]]
    with pytest.raises(DefinitionError, match=r"op_py_def.py:\d+: KeyError: 'third'"):
        infer(forward, spec(4), mode="third")


# ---- errors


_INIT = "class P(pykernels.CustomOpProp):\n    def __init__(self, "
_VARIABLES = "class P(pykernels.CustomOpProp):\n    arguments, outputs = ['x', 'w'], ['y']\n    "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class P(pykernels.CustomOpProp:\n    pass", "syntax error"),
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("x = 1", "it must define one subclass of pykernels.CustomOpProp, but defines: none"),
        (
            "class A(pykernels.CustomOpProp): pass\nclass B(pykernels.CustomOpProp): pass",
            "it must define one subclass of pykernels.CustomOpProp, but defines: A, B",
        ),
        (_INIT + "*args): super().__init__()", "parameter '*args'"),
        (_INIT + "**kw): super().__init__()", "parameter '**kw'"),
        (_INIT + "a=None): super().__init__()", "the type of attribute 'a'"),
        (_INIT + "a: set): super().__init__()", "the type of attribute 'a'"),
        (_INIT + "a: int = 'x'): super().__init__()", "the default of attribute 'a', 'x', is no int64"),
        (_INIT + "a: 'nope'): super().__init__()", "an annotation of its constructor cannot be read: name 'nope'"),
        (_VARIABLES + "backward = 'x, dy'", "backward = 'x, dy': write \"y, dy -> dx\", or None for no gradient"),
        (_VARIABLES + "backward = 'z -> dx'", "the gradient cannot be computed from 'z', only dy, x, w, y"),
        (_VARIABLES + "backward = 'dy -> x'", "the gradient gives no 'x', only dx, dw"),
        (_VARIABLES + "backward = 'dy -> dw, dx'", "write the gradients in the order of the inputs"),
        (_VARIABLES + "backward_backward = 'dy, gdx -> dy'", "the gradient gives no 'dy', only gdy, gx, gw, gy"),
        (
            _VARIABLES + "tangent = 'dy -> ty'",
            "tangent = 'dy -> ty': the tangent cannot be computed from 'dy', only tx",
        ),
        (_VARIABLES + "tangent = 1", 'tangent = 1: write "y, tx -> ty", or None for no tangent'),
        (_VARIABLES + "backward = None; tangent = 'tx -> ty'", "tangent = 'tx -> ty': the op has no gradient"),
        (_VARIABLES + "tangent = 'tx, tx -> ty'", "'tx' names two things in tangent"),
        (_VARIABLES + "dtypes = {'z': 'any'}", "dtypes names 'z', which is none of x, w, y"),
        (
            _VARIABLES + "dtypes = 'flaoting'",
            "'flaoting', of 'x', is neither a dtype of ops nor floating, complex, inexact, integer",
        ),
        (
            _VARIABLES + "dtypes = {'w': 'S3'}",
            "dtypes: 'S3', of 'w', is neither a dtype of ops nor floating, complex, inexact, integer",
        ),
        (_VARIABLES + "a: 'nope'", "an annotation of its variables cannot be read: name 'nope'"),
        (_VARIABLES + "a: set", "the type of attribute 'a'"),
        (_VARIABLES + "a: int = 'x'", "the default of attribute 'a', 'x', is no int64"),
        (
            "class P(pykernels.CustomOpProp):\n    def list_outputs(self): return []",
            "list_outputs names no output, nor list_auxiliary_states an input to write into",
        ),
        (
            "class P(pykernels.CustomOpProp):\n    def list_arguments(self): return 'data'",
            "list_arguments returned 'data', not a list of names",
        ),
        (
            "class P(pykernels.CustomOpProp):\n    def list_arguments(self): return ['a', 'a']",
            "'a' names two things in the op",
        ),
        (
            "class P(pykernels.CustomOpProp):\n    def list_arguments(self): return ['doutput']",
            "'doutput' names two things in its gradient",
        ),
        (
            "class P(pykernels.CustomOpProp):\n    def list_auxiliary_states(self): return 'mean'",
            "list_auxiliary_states returned 'mean', not a list of names",
        ),
        (
            "class P(pykernels.CustomOpProp):\n    def declare_backward_dependency(self, g, i, o): return [9]",
            "declare_backward_dependency returned [9], not a selection of the numbers that it was given",
        ),
        ("class P(pykernels.CustomOpProp):\n    def list_outputs(self): return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_definitions_that_cannot_be_right(tmp_path: Path, text: str, expected: str) -> None:
    message = _refused(tmp_path, text)
    assert expected in message
    assert message.startswith(str(tmp_path / "op_py_def.py"))


def test_a_subclass_of_a_subclass_is_the_one_that_counts(tmp_path: Path) -> None:
    text = "class Base(pykernels.CustomOpProp): pass\nclass P(Base):\n    def list_outputs(self): return ['z']"
    assert _load(tmp_path, text).ops["op_forward"].schema() == "op_forward(data) -> z"


@pytest.mark.parametrize(
    ("body", "error", "expected"),
    [
        ("raise ValueError('too long')", CallError, r"op_py_def.py:6: ValueError: too long"),
        ("assert in_shape[0] == [], 'no'", CallError, r"op_py_def.py:6: AssertionError: no"),
        ("return in_shape[5]", DefinitionError, r"op_py_def.py:6: IndexError: list index out of range"),
        (
            "return None",
            DefinitionError,
            r"infer_shape returned None, not two lists \(1 for inputs and 1 for outputs\)",
        ),
        ("return in_shape, [], []", DefinitionError, "not two lists"),
        ("return in_shape, [[-1]]", DefinitionError, r"\(-1,\) has a negative length"),
        ("return in_shape, [[1.5]]", DefinitionError, "'float' object cannot be interpreted as an integer"),
        ("return in_shape, [[1] * 21]", DefinitionError, "21 axes are more than 20"),
        ("return [[9]], in_shape", CallError, r"input 'data' has shape \(3,\), but infer_shape wants \(9,\)"),
    ],
)
def test_exceptions_carry_file_and_line(tmp_path: Path, body: str, error: type[Exception], expected: str) -> None:
    definition = _load(
        tmp_path, f"class P(pykernels.CustomOpProp):\n    def infer_shape(self, in_shape):\n        {body}"
    )
    assert definition.path == tmp_path / "op_py_def.py"
    with pytest.raises(error, match=expected) as caught:
        infer(definition.ops["op_forward"], spec(3))
    assert str(caught.value).startswith(f"op op_forward: {tmp_path}/op_py_def.py:")


def test_a_gradient_whose_shape_cannot_be_inferred(tmp_path: Path) -> None:
    definition = _load(
        tmp_path,
        """
        class Pool(pykernels.CustomOpProp):
            def infer_shape(self, in_shape):
                return in_shape, [[in_shape[0][0] // 2]]
            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return out_grad
        """,
    )
    with pytest.raises(DefinitionError, match="the shape of the gradient of 'data' cannot be inferred from .*doutput"):
        infer(definition.ops["op_backward"], spec(3))


def test_editing_a_file_and_loading_it_again_gives_the_new_definition(tmp_path: Path) -> None:
    text = "class P(pykernels.CustomOpProp):\n    def list_outputs(self):\n        return ['%s']"
    old, new = _load(tmp_path, text % "a"), _load(tmp_path, text % "b")
    assert old.ops["op_forward"].schema() == "op_forward(data) -> a"
    assert new.ops["op_forward"].schema() == "op_forward(data) -> b"
    assert infer(old.ops["op_forward"], spec(1)) == infer(new.ops["op_forward"], spec(1)) == [[spec(1)]]


def test_types_that_numpy_and_ops_share(tmp_path: Path) -> None:
    forward = _load(tmp_path, "class P(pykernels.CustomOpProp): pass").ops["op_forward"]
    for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"):
        assert infer(forward, spec(1, dtype=np.dtype(name))) == [[spec(1, dtype=np.dtype(name))]]
    with pytest.raises(CallError, match="no op can take arrays of dtype datetime64"):
        infer(forward, spec(1, dtype=np.dtype("datetime64[s]")))
