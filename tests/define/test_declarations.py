"""Definitions that only declare are not compiled, and are what the compiler makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pykernels.base import paths
from pykernels.base.errors import DefinitionError
from pykernels.define import cpp_def
from pykernels.define.declarations import read_declarations
from pykernels.define.definition import Definition

INCLUDE = '#include "oneflow/core/framework/framework.h"\n'
DECLARED = """\
// A comment, "with a text";
#include "oneflow/core/framework/framework.h"
/* REGISTER_USER_OP("nothing"); */
REGISTER_USER_OP("many_forward").Input("x", "floating[n, 4]") // behind a call
  .Input("xs", "floating[...]", 2)
    .OptionalInput("mask", "bool[n]").InputWithMinimum("more", "floating[...]", 1)
    .Output("y", "floating[n, 4]")
    .Attr<int32_t>("a", -3).Attr<int64_t>("b", 9007199254740993)
    .Attr<float>("c", 0.1).Attr<double>("d", 1e-7).Attr<float>("e", 16777217).Attr<double>("f", .5)
    .Attr<bool>("g", true).Attr<std::string>("h", "a, b").Attr<bool>("i").Attr<int>("j", 0)
    .Require("n > 0")
    .Split("n", "a < 0")
    .SupportCpuOnly()
    .NoGrad();

REGISTER_USER_OP("half_forward").Input("x", "floating[...]").Output("y", "floating[...]").Split("...")
    .Backward("x, dy -> dx").Tangent("tx -> ty");
"""


def _facts(definition: Definition) -> list[Any]:
    exported = definition.functions
    gradients = [(each.op, each.file, each.line) for each in exported.gradients[: exported.n_gradients]]
    ops = definition.ops.values()
    return [(op.schema(), op.flags, op.index, op.gradient, op.file, op.line, op.attributes) for op in ops] + gradients


def _compiled(path: Path, monkeypatch: pytest.MonkeyPatch) -> Definition:
    with monkeypatch.context() as patch:
        patch.setattr(cpp_def, "read_declarations", lambda text: None)
        return cpp_def.load_cpp_def(path)


def test_declarations_are_what_the_compiler_makes_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many_cpp_def.cpp"
    path.write_text(DECLARED)
    assert read_declarations(DECLARED) is not None
    assert _facts(cpp_def.load_cpp_def(path)) == _facts(_compiled(path, monkeypatch))


def test_most_shipped_definitions_only_declare() -> None:
    texts = {path.parent.name: path.read_text() for path in paths.OPS.glob("*/*_cpp_def.cpp")}
    compiled = {name for name, text in texts.items() if read_declarations(text) is None}
    assert compiled == {"softmax_cross_entropy", "tensor_negate"}


@pytest.mark.parametrize(
    "line",
    [
        'REGISTER_USER_OP("twice_forward").Input("x", "floating[n]").Output("x", "floating[n]");',
        'REGISTER_USER_OP("wrong_forward")\n    .Input("x", "float[n]")\n    .Output("y", "floating[m]");',
        'REGISTER_USER_OP("wrong_forward").Input("x", 0).Output("y", "floating[n]")\n    .Backward("x dx");',
    ],
)
def test_mistakes_are_reported_in_the_same_words(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wrong_cpp_def.cpp"
    path.write_text(f"{INCLUDE}\n{line}\n")
    assert read_declarations(path.read_text()) is not None
    with pytest.raises(DefinitionError) as declared:
        cpp_def.load_cpp_def(path)
    with pytest.raises(DefinitionError) as compiled:
        _compiled(path, monkeypatch)
    assert str(declared.value) == str(compiled.value)


@pytest.mark.parametrize(
    "text",
    [
        '#define N "n"\n',
        "#ifdef X\n#endif\n",
        '#include "other.h"\n',
        "namespace oneflow {}\n",
        'REGISTER_USER_OP("x_forward").Input("x").SetTensorDescInferFn(f);',
        'REGISTER_USER_OP("x_forward").Input(NAME);',
        'REGISTER_USER_OP("x_forward").Input("x\\n");',
        'REGISTER_USER_OP("x_forward").Input("a" "b");',
        'REGISTER_USER_OP("x_forward").Input("x",\n    "floating[n]");',
        'REGISTER_USER_OP("x_forward").Attr<int32_t>("n", 010);',
        'REGISTER_USER_OP("x_forward").Attr<double>("n", 010);',
        'REGISTER_USER_OP("x_forward").Attr<int32_t>("n", 1.5);',
        'REGISTER_USER_OP("x_forward").Attr<int32_t>("n", 3000000000);',
        'REGISTER_USER_OP("x_forward").Attr<float>("n", 1e39);',
        'REGISTER_USER_OP("x_forward").Attr<float>("n", 1 - 2);',
        'REGISTER_USER_OP("x_forward").Attr<bool>("n", 1);',
        'REGISTER_USER_OP("x_forward").Attr<Shape>("n");',
        'REGISTER_USER_OP("x_forward").Attr("n", kAtInt32);',
        'REGISTER_USER_OP("x_forward").InputWithMinimum("x", "floating[n]");',
        'REGISTER_USER_OP("x_forward").Require();',
        'REGISTER_USER_OP("x_forward")',
        'REGISTER_USER_OP(NAME);',
    ],
)  # fmt: skip
def test_all_else_is_compiled(text: str) -> None:
    assert read_declarations(f"{INCLUDE}{text}") is None


def test_declarations_that_are_too_long_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long_cpp_def.cpp"
    op = 'REGISTER_USER_OP("long{}_forward").Input("x", "floating[...]").Output("y", "floating[...]");\n'
    path.write_text(INCLUDE + "".join(op.format(number) for number in range(500)))
    sources: list[Path] = []
    monkeypatch.setattr(cpp_def, "_compile", lambda source: sources.append(source) or source)
    cpp_def.build_definition(path)
    assert sources == [cpp_def._DECLARED, path]
