"""C++ definitions that are wrong: each is refused with file, line and name, and none of them ends the process."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from pathlib import Path

import pytest
from definitions import INCLUDE, infer, line_of, load, spec, write

from pykernels.base import abi
from pykernels.base.errors import CallError, CompileFailed, DefinitionError, PykernelsWarning
from pykernels.define import cpp_def
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import Definition
from pykernels.define.instance import TensorSpec

UNCHANGED = ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);"
OP = f'REGISTER_USER_OP("fine").Input("x").Output("y"){UNCHANGED}\n'


def _refused(name: str, text: str, **layout: str) -> str:
    with pytest.raises(DefinitionError) as error:
        load_cpp_def(write(name, text, **layout))
    return str(error.value)


# ---- what the compiler finds


def test_a_compile_error_is_cut_to_what_the_user_wrote() -> None:
    text = OP + 'REGISTER_USER_OP("bad").Inptu("x").Output("y");'
    message = _refused("misspelt", text)
    path = write("misspelt", text)
    assert message.startswith(f"{path}:{line_of(path, 'Inptu')}: ")
    assert "Inptu" in message
    assert len(message.splitlines()) <= 3


@pytest.mark.thorough
def test_a_compile_error_inside_a_header_names_the_line_of_the_definition_that_led_there() -> None:
    text = 'REGISTER_USER_OP("bad").Input("x").Output("y").Attr<char>("c", 1)' + UNCHANGED
    message = _refused("untyped_attribute", text)
    path = write("untyped_attribute", text)
    assert message.startswith(f"{path}:{line_of(path, 'Attr<char>')}: ")
    assert "an attribute is int32_t, int64_t, bool, float, double, std::string" in message
    assert len(message.splitlines()) <= 3


@pytest.mark.thorough
def test_a_function_of_the_wrong_kind_does_not_compile() -> None:
    message = _refused("wrong_function", 'REGISTER_USER_OP("bad").Output("y").SetTensorDescInferFn([](int) {});')
    assert "TensorDescInferFn" in message
    assert len(message) < 1000


@pytest.mark.thorough
def test_the_compilers_whole_output_is_kept_with_the_error() -> None:
    with pytest.raises(DefinitionError) as error:
        load("syntax", 'REGISTER_USER_OP("bad")..Input("x");')
    assert isinstance(error.value.__cause__, CompileFailed)
    assert "syntax_cpp_def.cpp" in error.value.__cause__.output


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "gone_cpp_def.cpp"
    with pytest.raises(DefinitionError, match=rf"^{re.escape(str(path))}: the file does not exist \[PK200\]$"):
        load_cpp_def(path)


def test_a_file_that_is_no_definition() -> None:
    assert 'registers no op: include "oneflow/core/framework/framework.h"' in _refused(
        "plain", "int x;", before="", after=""
    )


@pytest.mark.thorough
def test_a_function_that_is_declared_but_not_defined() -> None:
    message = _refused(
        "undefined",
        "Maybe<void> Nowhere(user_op::InferContext* ctx);}\n"
        + OP.replace("user_op::TensorDescInferFnUtil::Unchanged", "Nowhere"),
        before=INCLUDE + "namespace oneflow {",
        after="",
    )
    assert "cannot be loaded" in message
    assert "Nowhere" in message


@pytest.mark.thorough
def test_registration_that_would_end_the_process() -> None:
    helper = 'std::string Name(int n) { CHECK_GT(n, 3) << "too small"; return "x"; }\n'
    message = _refused("crashing", helper + OP.replace('"fine"', "Name(2)"))
    assert "registering its ops ends the process (SIGABRT)" in message
    assert "check failed: n > 3 (2 vs 3): too small" in message
    # The second time as well: what is in the cache is not taken for good.
    assert "SIGABRT" in _refused("crashing", helper + OP.replace('"fine"', "Name(2)"))


@pytest.mark.thorough
def test_registration_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_def, "_PROBE_TIMEOUT", 2.0)
    helper = 'std::string Name() { for (volatile int i = 0;; i = i) {} return "x"; }\n'
    message = _refused("endless", helper + OP.replace('"fine"', "Name()"))
    assert message.endswith("registering its ops takes more than 2 s [PK200]")


# ---- what registration finds

MANY_PROBLEMS = f"""
REGISTER_USER_OP("twice").Input("x").Output("y"){UNCHANGED}
REGISTER_USER_OP("twice").Input("a").Output("b"){UNCHANGED}
REGISTER_USER_OP("names").Input("x").Output("x").Attr<float>("alpha").Attr<float>("alpha", 1).Input(""){UNCHANGED}
REGISTER_USER_OP("counts").Input("x", 0).InputWithMinimum("z", -1).Output("y"){UNCHANGED}
REGISTER_USER_OP("defaults").Output("y").Attr("n", UserOpAttrType::kAtInt32, 0.5)
    .Attr("b", kAtBool, "no").Attr("big", kAtInt32, int64_t(1) << 40){UNCHANGED}
REGISTER_USER_OP("").Output("y"){UNCHANGED}
REGISTER_USER_OP_GRAD("twice");
REGISTER_USER_OP_GRAD("names").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext*) {{}});
REGISTER_USER_OP_GRAD("names").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext*) {{}});
"""


@pytest.mark.thorough
def test_everything_that_is_wrong_with_registrations_is_said_at_once() -> None:
    message = _refused("many_problems", MANY_PROBLEMS)
    path = write("many_problems", MANY_PROBLEMS)
    twice, again = _at(path, 'USER_OP("twice")')
    (names,), (counts,), (defaults,) = _at(path, 'OP("names")'), _at(path, '"counts"'), _at(path, '"defaults"')
    (nameless,), (bare,) = _at(path, 'USER_OP("")'), _at(path, 'GRAD("twice")')
    gradient, second = _at(path, 'GRAD("names")')
    assert message.splitlines() == [
        f"{path}: {again}: op twice is registered twice; the first time is at {twice} [PK200]",
        f"{names}: op names: the name 'x' is declared twice",
        f"{names}: op names: the name 'alpha' is declared twice",
        f"{names}: op names: an argument or attribute has no name",
        f"{counts}: op counts: argument 'x' stands for 0 tensors; the minimum is 1 (OptionalInput may be left out)",
        f"{counts}: op counts: argument 'z' stands for -1 tensors; the minimum is 1 (OptionalInput may be left out)",
        f"{defaults}: op defaults: the default of attribute 'n' must be int32, but is of type double",
        f"{defaults}: op defaults: the default of attribute 'b' must be bool, but is of type string",
        f"{defaults}: op defaults: the default of attribute 'big' must be int32, but is of type int64",
        f"{nameless}: an op has no name",
        f"{bare}: the gradient of op twice has no function",
        f"{second}: the gradient of op names is registered twice; the first time is at {gradient}",
    ]


def _at(path: Path, text: str) -> list[str]:
    lines = enumerate(path.read_text().splitlines(), 1)
    return [f"{path.name}:{number}" for number, line in lines if text in line]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("empty", "", "registers no op"),
        (
            "no_output",
            f'REGISTER_USER_OP("op").Input("x"){UNCHANGED}',
            "op op has no output; give it one with .Output(name), or an",
        ),
        (
            "gradient_without_output",
            'REGISTER_USER_OP("op").Input("x").SetInputArgModifyFn([](user_op::GetInputArgModifier get, '
            'const user_op::UserOpConfWrapper&) { get("x", 0)->set_is_mutable(true); });'
            'REGISTER_USER_OP_GRAD("op").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext*) {});',
            "a gradient is registered for op op, which has no output that could have one",
        ),
        (
            "no_inference",
            'REGISTER_USER_OP("op").Output("y").Output("z").SetDataTypeInferFn([](user_op::InferContext*) {});',
            "op op has no function that infers the shapes of its outputs (y, z); give it one with SetTensorDescInferFn",
        ),
        (
            "foreign_gradient",
            OP + 'REGISTER_USER_OP_GRAD("relu").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext*) {});',
            "the gradient is for op relu, which this file does not register; it registers: fine",
        ),
        (
            "no_gradient",
            OP.replace("REGISTER_USER_OP", "REGISTER_NO_GRAD_USER_OP")
            + 'REGISTER_USER_OP_GRAD("fine").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext*) {});',
            "op fine is declared to have no gradient, but a gradient is registered for it",
        ),
    ],
)
def test_definitions_that_cannot_be_right(name: str, text: str, expected: str) -> None:
    message = _refused(name, text)
    assert expected in message
    assert message.startswith(str(write(name, text)))


# ---- what is found in gradients, which are tried when they are loaded

FORWARD = """
REGISTER_USER_OP("two").Input("a").Input("b").Output("y").Attr<float>("alpha", 1)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("two_backward").Input("dy").InputWithMinimum("like", 1).OptionalInput("b").Output("da").Output("db")
    .Attr<float>("alpha").Attr<int64_t>("n", 0)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
"""
GRADIENT = """
Maybe<void> Plan_NAME(user_op::BackwardOpConfContext* ctx) {
  auto& fw = ctx->FwOp();
  ctx->DefineOp("grad", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("two_backward")
        .InputBind("dy", fw.output_grad("y", 0)).InputBind("like", fw.input("a", 0)).Output("da").Output("db")
        .Attr("alpha", fw.attr<float>("alpha")).Build();
  });
  fw.InputGradBind(user_op::OpArg("a", 0), [&] { return ctx->GetOp("grad").output("da", 0); });
  fw.InputGradBind(user_op::OpArg("b", 0), [&] { return ctx->GetOp("grad").output("db", 0); });
  return Maybe<void>::Ok();
}
"""
WRONG_GRADIENTS = {
    "unknown_forward_input": ('fw.input("a", 0)', 'fw.input("x", 0)', "op two has no input 'x'; it has: a, b"),
    "unknown_forward_output": ('output_grad("y", 0)', 'output_grad("z", 0)', "op two has no output 'z'; it has: y"),
    "no_such_number": ('output_grad("y", 0)', 'output_grad("y", 1)', "has 1 tensors here; it has no number 1"),
    "unknown_forward_attribute": (
        'attr<float>("alpha")',
        'attr<float>("beta")',
        "has no attribute 'beta'; it has: alpha",
    ),
    "binds_unknown_argument": ('OpArg("a", 0)', 'OpArg("x", 0)', "op two has no input 'x'; it has: a, b"),
    "binds_twice": ('OpArg("b", 0)', 'OpArg("a", 0)', "the gradient of input 'a' is bound twice"),
    "binds_nothing": ('return ctx->GetOp("grad").output("db", 0)', 'return "grad/dz_0"', "which no op of the gradient"),
    "unknown_backward_input": ('InputBind("dy"', 'InputBind("dz"', "input 'dz' of op two_backward, which has no such"),
    "unknown_backward_output": (
        '.Output("db")\n',
        '.Output("dc")\n',
        "output 'dc' of op two_backward, which has no such",
    ),
    "unbound_input": (
        '.InputBind("like", fw.input("a", 0))',
        "",
        "0 tensors to input 'like' of op two_backward, which takes 1 or",
    ),
    "too_many_tensors": (
        '.InputBind("like"',
        '.InputBind("dy"',
        "2 tensors to input 'dy' of op two_backward, which takes 1",
    ),
    "unknown_backward_attribute": (
        'Attr("alpha"',
        'Attr("gamma"',
        "attribute 'gamma' of op two_backward, which has no such",
    ),
    "missing_attribute": ('.Attr("alpha", fw.attr<float>("alpha"))', "", "gives op two_backward no attribute 'alpha'"),
    "wrong_attribute": (
        'fw.attr<float>("alpha")',
        'std::string("1")',
        "'alpha' of op two_backward to a value of type string, but its type is float",
    ),
    "undefined_op": ('GetOp("grad").output("da"', 'GetOp("garden").output("da"', "has not defined op garden"),
    "undefined_output": ('output("da", 0)', 'output("dx", 0)', "op two_backward has no output 'dx'; it has: da, db"),
    "defined_twice": ("  return Maybe", '  ctx->DefineOp("grad", {});\n  return Maybe', "defines op grad twice"),
    "circular": (
        'fw.input("a", 0)',
        'ctx->GetOp("grad").output("da", 0)',
        "op grad of the gradient is defined by its own output",
    ),
    "no_type": ('OpTypeName("two_backward")', 'OpTypeName("")', "an op of the gradient has no op type name"),
    "returns_an_error": ("return Maybe<void>::Ok();", 'return Error::RuntimeError() << "not today";', "not today"),
    "fails_a_check": ("return Maybe<void>::Ok();", "CHECK(false); return Maybe<void>::Ok();", "check failed: false"),
    "throws": ("return Maybe<void>::Ok();", 'std::string("ab").at(5); return Maybe<void>::Ok();', "basic_string::at"),
}


def _gradients() -> str:
    """All of them in one file, which compiles once; an environment variable says which one to plan."""
    text, choice = FORWARD + GRADIENT.replace("NAME", "right"), "return Plan_right(ctx);"
    for name, (old, new, _) in WRONG_GRADIENTS.items():
        assert old in GRADIENT, name
        text += GRADIENT.replace("NAME", name).replace(old, new)
        choice = f'if (chosen == "{name}") {{ return Plan_{name}(ctx); }}\n{choice}'
    return f"""{text}
Maybe<void> Plan(user_op::BackwardOpConfContext* ctx) {{
const std::string chosen = std::getenv("CHOSEN_GRADIENT");
{choice}
}}
REGISTER_USER_OP_GRAD("two").SetBackwardOpConfGenFn(Plan);
"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", WRONG_GRADIENTS)
def test_wrong_gradients_are_refused_when_they_are_loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHOSEN_GRADIENT", name)
    path = write("gradients", _gradients())
    with pytest.raises(DefinitionError) as error:
        load_cpp_def(path)
    message = str(error.value)
    assert WRONG_GRADIENTS[name][2] in message
    assert message.startswith(f"{path}:{line_of(path, 'REGISTER_USER_OP_GRAD')}: the gradient of op two: ")


def test_the_gradient_that_the_wrong_ones_are_made_of_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHOSEN_GRADIENT", "right")
    assert load("gradients", _gradients()).ops["two"].gradient == 0


# ---- what is found when the op is used

UNUSABLE = """
struct Point { int x; };
std::ostream& operator<<(std::ostream& out, const Point& point) { return out << "point " << point.x; }
struct Opaque {};
#define OP(name, body) REGISTER_USER_OP(name).Input("x").OptionalInput("z").Output("y").Attr<int64_t>("n", 0) \\
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> { body; return Maybe<void>::Ok(); })
OP("unset", );
OP("copies_unset", *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("y", 0));
OP("reads_unset", *ctx->OutputShape("y", 0) = Shape({ctx->OutputShape("y", 0).At(0)}));
OP("negative", ctx->SetOutputShape("y", 0, Shape({2, -1})));
OP("deep", ctx->SetOutputShape("y", 0, Shape::Ones(21)));
OP("far", ctx->SetOutputShape("y", 0, Shape({ctx->InputShape("x", 0).At(7)})));
OP("subscript", ctx->SetOutputShape("y", 0, Shape({ctx->InputShape("x", 0)[7]})));
OP("dim_vec", ctx->SetOutputShape("y", 0, Shape({ctx->InputShape("x", 0).dim_vec().at(7)})));
OP("misnamed", ctx->SetOutputShape("yy", 0, Shape({1})));
OP("left_out", ctx->SetOutputShape("y", 0, ctx->InputShape("z", 0)));
OP("numbered", ctx->SetOutputShape("y", 0, ctx->InputShape("x", 2)));
OP("huge", std::vector<int64_t>(ctx->Attr<int64_t>("n")); ctx->SetOutputShape("y", 0, Shape({1})));
OP("fatal", LOG(FATAL) << "no way");
OP("todo", TODO());
OP("prints", LOG(FATAL) << true << ' ' << 0.1f << ' ' << 1e300 << ' ' << int8_t{-3} << ' ' << uint64_t{1} << 63 << " t"
    << std::string("s ") << std::vector<Shape>(2) << kFloat << kAtShape << ' ' << Point{2} << Opaque());
OP("plain_error", return Error::TypeError());
OP("throws_int", throw 3);
OP("no_null", CHECK_NOTNULL(ctx->TensorDesc4ArgNameAndIndex("z", 0)));
REGISTER_USER_OP("untyped").Output("y").SetTensorDescInferFn([](user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, Shape({1}));
});
REGISTER_USER_OP("exotic").Output("y").SetTensorDescInferFn([](user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, Shape({1}));
  ctx->SetOutputDType("y", 0, DataType::kChar);
});
"""


@pytest.fixture(scope="module")
def unusable() -> Definition:
    before = INCLUDE + "#include <ostream>\nnamespace oneflow {\nnamespace {\n"
    return load_cpp_def(write("unusable", UNUSABLE, before=before))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("unset", r"unusable_cpp_def.cpp:\d+: op unset leaves the shape of output 'y' unset"),
        ("copies_unset", "op copies_unset leaves the shape of output 'y' unset"),
        ("negative", r"op negative infers for output 'y' the shape \(2, -1\), which has a negative length"),
        ("deep", "op deep infers for output 'y' 21 axes; the maximum is 20"),
        ("misnamed", "op misnamed has neither an input nor an output 'yy'; inputs: x, z; outputs: y"),
        ("left_out", "input 'z' of op left_out has 0 tensors here; it has no number 0"),
        ("numbered", "input 'x' of op numbered has 1 tensors here; it has no number 2"),
        ("untyped", "op untyped leaves the data type of output 'y' unset, and has no input to take it from"),
        ("exotic", "op exotic infers OneFlow data type 1, for which NumPy has no dtype"),
    ],
)
def test_a_definition_that_is_wrong_in_use(unusable: Definition, name: str, text: str) -> None:
    op = unusable.ops[name]
    with pytest.raises(DefinitionError, match=text):
        op.infer([[spec(2, 3)], []][: len(op.inputs)], op.parse_attributes({}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reads_unset", "the shape of an output is read before it is set"),
        ("far", r"unusable_cpp_def.cpp:\d+: axis 7 is out of range for the shape \(2, 3\)"),
        ("subscript", r"axis 7 is out of range for the shape \(2, 3\)"),
        ("dim_vec", r"unusable_cpp_def.cpp:\d+: axis 7 is out of range for the shape \(2, 3\)"),
        ("fatal", "fatal: no way"),
        ("todo", "not implemented yet"),
        ("prints", r"fatal: true 0.1 1e\+300 -3 163 ts \[\(\), \(\)\]float327 point 2\?"),
        ("plain_error", r"unusable_cpp_def.cpp:\d+: type error"),
        ("throws_int", "threw something that is not a std::exception"),
        ("no_null", r"check failed: ctx->TensorDesc4ArgNameAndIndex\(.*\) is not null"),
    ],
)
def test_what_a_definition_throws_is_an_error_of_the_call(unusable: Definition, name: str, text: str) -> None:
    with pytest.raises(CallError, match=text):
        unusable.ops[name].infer([[spec(2, 3)], []], {"n": 0})


@pytest.mark.parametrize("n", [-1, 1 << 62])
def test_running_out_of_memory_is_an_error_too(unusable: Definition, n: int) -> None:
    with pytest.raises(CallError, match=r"op huge: "):
        unusable.ops["huge"].infer([[spec(2)], []], {"n": n})
    assert unusable.ops["huge"].infer([[spec(2)], []], {"n": 3}) == [[spec(1)]]


def test_an_input_with_too_many_axes(unusable: Definition) -> None:
    with pytest.raises(CallError, match="'x' has 21 axes; the maximum is 20"):
        infer(unusable.ops["untyped"].definition.ops["far"], TensorSpec((1,) * 21, None), spec(1))


def test_hosts_that_break_the_contract_get_an_error(unusable: Definition) -> None:
    functions = unusable.functions
    error = (abi.ctypes.c_char * 200)()
    tensor = abi.Tensor(argument=b"nobody", ndim=0)
    instance = abi.Instance(name=None, n_inputs=1, inputs=(abi.Tensor * 1)(tensor))
    for op, text in (
        (99, b"has no op number 99"),
        (-1, b"has no op number -1"),
        (0, b"op unset has no input 'nobody'"),
    ):
        assert functions.infer(op, instance, abi.ctypes.addressof(error), 200) == 1
        assert text in error.value
    # A text that does not fit is cut.
    assert functions.infer(99, instance, abi.ctypes.addressof(error), 10) == 1
    assert len(error.value) == 9


def test_definitions_are_called_from_many_threads_at_once(unusable: Definition) -> None:
    op, wrong = unusable.ops["huge"], []

    def work(size: int) -> None:
        for _ in range(50):
            if op.infer([[spec(size)], []], {"n": size}) != [[spec(1)]]:
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.thorough
def test_a_damaged_build_heals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "heal_cpp_def.cpp"
    path.write_text(INCLUDE + OP)
    load_cpp_def(path)
    (built,) = (tmp_path / "cache").rglob("*.so")
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "cache", copy)
    # Not the file that this process has mapped: a copy of it, cut short.
    (copied,) = copy.rglob("*.so")
    copied.write_bytes(built.read_bytes()[:1000])
    monkeypatch.setenv("PYKERNELS_CACHE", str(copy))
    with pytest.warns(PykernelsWarning, match="was damaged and is rebuilt"):
        assert list(load_cpp_def(path).ops) == ["fine"]


@pytest.mark.thorough
def test_without_an_interpreter_to_try_it_in_a_definition_still_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)
    assert list(load("no_interpreter", OP).ops) == ["fine"]


def test_registration_that_calls_exit() -> None:
    message = _refused(
        "leaving", 'extern "C" void exit(int);\nint Leave() { exit(0); return 0; }\nint left = Leave();\n' + OP
    )
    assert "registering its ops ends the process, with exit code 0" in message
    assert "A definition may not call exit" in message
