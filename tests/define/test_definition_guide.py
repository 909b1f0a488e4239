"""C++ definitions of OneFlow's guide, compiled as printed; how long compiling takes, and compiling again."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from definitions import F64, INCLUDE, infer, line_of, load, spec, write
from process import CHECKOUT
from quick import thorough

from pykernels.base.errors import PykernelsWarning
from pykernels.build.cache import recorded
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import Definition

GUIDE = CHECKOUT.parent / "shared" / "guides" / "oneflow_extending_op_with_python.md"


def _guide_definition() -> str:
    if not GUIDE.exists():
        pytest.skip(f"{GUIDE} is not here: the guide is not part of the repository")
    blocks = re.findall(r"```c\+\+\n(.*?)```|```cpp\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    code = [cpp_block or cxx for cxx, cpp_block in blocks]
    return "\n".join(block for block in code if block.lstrip().startswith(("#include", "REGISTER")))


@pytest.fixture(scope="module")
def guide() -> tuple[Definition, list[str]]:
    path = write("user_relu", _guide_definition(), before="", after="")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        definition = load_cpp_def(path)
    return definition, [str(w.message) for w in caught if issubclass(w.category, PykernelsWarning)]


def test_the_definition_of_oneflows_guide_is_read_unmodified(guide: tuple[Definition, list[str]]) -> None:
    definition, _ = guide
    forward, backward = definition.ops.values()
    assert forward.schema() == "user_relu_forward(in) -> out"
    assert backward.schema() == "user_relu_backward(y, dy) -> dx"
    assert forward.parse_attributes({}) == {"device_sub_tag": "py"}
    assert infer(forward, spec(5)) == [[spec(5)]]
    assert infer(backward, spec(5), spec(5, dtype=F64)) == [[spec(5)]]


def test_the_guides_gradient_is_read_by_position_with_one_warning(guide: tuple[Definition, list[str]]) -> None:
    definition, warned = guide
    (text,) = warned
    assert text.startswith(f"{definition.path}:{line_of(definition.path, 'REGISTER_USER_OP_GRAD')}: the gradient of op")
    assert "names its input 'x', but the op declares 'in'" in text
    assert "names its output 'y', but the op declares 'out'" in text
    assert text.endswith("read by position, because the op has one input and one output [PK900]")
    forward = definition.ops["user_relu_forward"]
    plan = forward.plan_gradient(None, forward.parse_attributes({}))
    assert plan.ops[0].inputs == (("y", "O/out/0"), ("dy", "D/out/0"))
    assert plan.bindings == {("in", 0): "user_relu_forward_grad/dx_0"}


@pytest.mark.thorough
def test_a_definition_compiles_in_seconds_and_is_then_cached(tmp_path: Path) -> None:
    text = f"""
        // {tmp_path} has not been seen before
        REGISTER_USER_OP("timed").Input("x").Output("y")
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
            .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);
    """
    started = time.perf_counter()
    load("timed", text)
    cold = time.perf_counter() - started
    started = time.perf_counter()
    load("timed", text)
    warm = time.perf_counter() - started
    # About 2 s on an idle machine; several times that leaves room for a busy one.
    assert cold < 15
    assert warm < 0.5


@pytest.mark.thorough
def test_editing_a_file_and_loading_it_again_gives_the_new_definition() -> None:
    text = """REGISTER_USER_OP("edited").Input("x").Output("y").Attr<int32_t>("n", %d)
        .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);"""
    old, new = (load("edited", text % n).ops["edited"] for n in (1, 2))
    assert old.file == new.file
    assert old.parse_attributes({}) == {"n": 1}
    assert new.parse_attributes({}) == {"n": 2}
    assert infer(old, spec(3)) == infer(new, spec(3)) == [[spec(3)]]


@pytest.fixture
def split(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """The attributes of a definition that includes a file of this name."""

    def attributes(name: str) -> dict[str, Any]:
        path = tmp_path / "split" / "split_cpp_def.cpp"
        path.write_text(
            INCLUDE
            + f"""#include "{name}"
            REGISTER_USER_OP("split").Input("x").Output("y").Attr<int32_t>("n", N)
                .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);"""
        )
        return load_cpp_def(path).ops["split"].parse_attributes({})

    (tmp_path / "split").mkdir()
    return attributes


@pytest.mark.parametrize("name", ["shared.h", *thorough("inner/shared.inc", "../shared.def", "over there/it's.hh")])
def test_editing_what_a_definition_includes_builds_it_anew(tmp_path: Path, split: Any, name: str) -> None:
    header = tmp_path / "split" / name
    header.parent.mkdir(exist_ok=True)
    for n in (1, 2, 1):
        header.write_text(f"#define N {n}\n")
        assert split(name) == {"n": n}


def test_editing_what_an_included_file_includes_builds_a_definition_anew(tmp_path: Path, split: Any) -> None:
    (tmp_path / "split" / "shared.h").write_text('#include "further.h"\n')
    for n in (3, 4):
        (tmp_path / "split" / "further.h").write_text(f"#define N {n}\n")
        assert split("shared.h") == {"n": n}
    with recorded() as built:
        assert split("shared.h") == {"n": 4}
    assert built == []
