"""Errors of ops in PopART's C++ name the op and the reason, and never end the process."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from model_files import guide_model
from popart_libraries import compile_library, run
from process import python

from pykernels.base.errors import LoadError
from pykernels.vendors.popart import loading
from pykernels.vendors.poprt import running

# The libraries take long to compile.
pytestmark = pytest.mark.thorough

#: The errors of the cases in `failures.cpp`, when a session is created and when it runs.
WHILE_MADE = {
    "creator": "no such op today",
}
WHILE_RUN = {
    "opx": "no such Opx",
    "clone": "clone() returns no op",
    "setup": "the input is float32 (4, 6)",
    "second input": "tensor 1 does not exist; the number of tensors is 1",
    "second output": "setup() does not set output 0",
    "no outputs": "setup() sets no output",
    "integer": "setup() says that output 0 is int32 (4, 6), but by the OpDefinition it is float32",
    "negative": "setup() gives output 0 a negative size: float32 (-1,)",
    "error": "one of 3",
    "no standard exception": "an exception was thrown that is not a std::exception",
    "another shape": "setup() says that output 0 is float32 (4, 6), but grow() makes it float{24}",
    "another type": "setup() says that output 0 is float32 (4, 6), but grow() makes it int{4,6}",
    "types": "popops::map 'step': popops expression: ADD combines float and int: convert one with Cast",
    "operator": "popops::map 'step': popops expression: BITWISE_AND does not support float",
    "condition": "popops::map 'step': popops expression: _1 is float where bool is needed",
    "placeholder": "popops::map 'step': popops expression: it uses _2, but the number of tensors is 1",
    "shapes": "popops::map 'step': tensors of the shapes {4,6}, {2,6} cannot be broadcast to one shape",
    "in place": "popops::mapInPlace 'step': the expression is bool, but the tensor for it is float",
    "wider in place": "popops::mapInPlace: a tensor of shape {4,6} cannot be broadcast to shape {6}",
    "constant": "a constant cannot be changed",
    "slice": "a tensor of shape {4,6}: elements 3 to 9 of dimension 0 do not exist",
    "dimension": "a tensor of shape {4,6}: dimension 7 does not exist",
    "reshape": "a tensor of shape {4,6}: it cannot be reshaped to {5,5}",
    "copy": "Copy from float{4,6} to float{1,6}: they need the same element type and as many elements",
    "no tensor": "setOutTensor(): output 0 is not a tensor",
    "unset tensor": "popops::map: the tensor is not valid: poplar::Tensor() was never set",
    "input": "input 4 does not exist",
    "no output": "grow() does not set output 0 with setOutTensor()",
}
X = np.ones((4, 6), "float32")


@pytest.mark.parametrize("case", [*WHILE_MADE, *WHILE_RUN])
def test_failures_of_ops_are_errors_of_the_session(cpp_libraries: dict[str, Path], case: str) -> None:
    expected = re.escape(f"{WHILE_MADE[case]} [PK200]" if case in WHILE_MADE else f"{WHILE_RUN[case]} [PK300]")
    with pytest.raises(Exception, match=f"test::Fail: {expected}$"):
        run(cpp_libraries["failures"], "Fail", X, case=case)


def test_attributes_of_other_types(cpp_libraries: dict[str, Path]) -> None:
    with pytest.raises(Exception, match=r"test::Fail: attribute 'case' is an integer, and not a string \[PK200\]$"):
        run(cpp_libraries["failures"], "Fail", X, case=3)
    with pytest.raises(Exception, match=r"test::Fail: attribute 'sizes' is missing and has no default \[PK200\]$"):
        run(cpp_libraries["failures"], "Fail", X, case="attribute")
    with pytest.raises(
        Exception, match=r"attribute 'sizes' is a list of floats, and not a list of integers \[PK200\]$"
    ):
        run(cpp_libraries["failures"], "Fail", X, case="attribute", sizes=[0.5])
    with pytest.raises(Exception, match="attribute 'sizes' cannot be read: ONNX Runtime has no lists of strings"):
        run(cpp_libraries["failures"], "Fail", X, case="strings", sizes=["a"])


def test_an_op_without_opx(cpp_libraries: dict[str, Path]) -> None:
    with pytest.raises(Exception, match="test::WithoutOpx: no Opx is registered for test.WithoutOpx:1: a static "):
        run(cpp_libraries["failures"], "WithoutOpx", X)


def test_types_that_an_op_does_not_take(cpp_libraries: dict[str, Path]) -> None:
    with pytest.raises(Exception, match=r"Type 'tensor\(double\)' of input parameter \(x0\) of operator \(Fail\)"):
        run(cpp_libraries["failures"], "Fail", X.astype("float64"))


LONELY = """
#include <popart/popx/opxmanager.hpp>
struct Opx : popart::popx::Opx { using popart::popx::Opx::Opx; };
static popart::popx::OpxCreator<Opx> creator(popart::OperatorIdentifier("test", "Lonely", 1));
"""
EMPTY = "#include <popart/op.hpp>\n"
TWICE = """
#include "test_op.hpp"
static bool added = [] {
  for (int i = 0; i < 2; ++i) {
    test::add("Twice", {{popart::DataType::FLOAT}}, popart::DataType::UNDEFINED, [](const auto& c) { return c.in[0]; });
  }
  return true;
}();
"""
# A function that PopART has, but not here.
UNDEFINED = """
#include <popart/op.hpp>
namespace popart { int lookInside(const Op&, float); }
int look(const popart::Op& op) { return popart::lookInside(op, 1.5f); }
"""
THROWS = '#include <popart/op.hpp>\nstatic int n = (throw popart::error("while it is loaded"), 0);\n'
LIBRARIES = {
    "lonely": (LONELY, "registers an Opx for test.Lonely:1, but no op: a static popart::OpCreator is missing"),
    "empty": (EMPTY, "registers no op: a static popart::OpCreator is missing"),
    "twice": (TWICE, "registers test.Twice:1 twice"),
    "undefined": (
        UNDEFINED,
        "needs popart::lookInside(popart::Op const&, float), which PopART on the CPU does not have",
    ),
    "throws": (THROWS, "cannot be loaded: a process that tries ends with signal 6"),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_wrong_libraries(tmp_path: Path, name: str) -> None:
    text, expected = LIBRARIES[name]
    source, library = tmp_path / "ops.cpp", tmp_path / "ops.so"
    source.write_text(text)
    done = compile_library(source, library)
    assert done.returncode == 0, done.stderr
    with pytest.raises(LoadError, match=f"ops.so.* {re.escape(expected)}"):
        running.check_libraries([library])
        loading.register(onnxruntime.SessionOptions(), [library])


def test_a_library_for_other_headers_or_for_graphcores(tmp_path: Path) -> None:
    source, library = tmp_path / "ops.cpp", tmp_path / "ops.so"
    source.write_text('extern "C" const char popart_cpu_headers_old;\nconst char* mark = &popart_cpu_headers_old;\n')
    assert compile_library(source, library).returncode == 0
    with pytest.raises(LoadError, match="ops.so is built with the headers of another version of pykernels: build it"):
        running.check_libraries([library])
    source.write_text("namespace popart { extern int n; }\nint* mark = &popart::n;\n")
    assert compile_library(source, library, "-Wl,--no-as-needed").returncode == 0
    with pytest.raises(LoadError, match="ops.so is built for Graphcore's PopART; build it again with our headers"):
        running.check_libraries([library])


def test_two_libraries_with_one_op(cpp_libraries: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    shutil.copy(cpp_libraries["failures"], other)
    with pytest.raises(
        LoadError, match="two ops are named test::Fail: test.Fail:1 of .*failures.so and test.Fail:1 of .*other.so"
    ):
        loading.register(onnxruntime.SessionOptions(), [cpp_libraries["failures"], other])


#: Code that does not compile, and the message at the user's own line.
REFUSED = {
    "#include <poplin/MatMul.hpp>": "<poplin/MatMul.hpp> is not provided: PopART on the CPU has no matrix products and",
    "#include <popops/Reduce.hpp>": "<popops/Reduce.hpp> is not provided: PopART on the CPU has no operations but el",
    'void f(poplar::Graph& g) { g.addCodelets("a"); }': "ops.cpp:3:.* PopART on the CPU has no codelets: write the",
    "auto f(poplar::Graph& g) { return g.addComputeSet(); }": "ops.cpp:3:.* PopART on the CPU has no compute sets",
    "auto f(popart::Op& op) { return op.getIr(); }": "ops.cpp:3:.* PopART on the CPU has no graph of ops",
    "auto f() { return popops::reduce(1); }": "ops.cpp:3:.* 'reduce' is not a member of 'popops'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_missing_features_do_not_compile(tmp_path: Path, line: str) -> None:
    source = tmp_path / "ops.cpp"
    source.write_text(f"#include <popart/op.hpp>\n#include <popops/ElementWise.hpp>\n{line}\n")
    done = compile_library(source, tmp_path / "ops.so")
    assert done.returncode != 0
    assert re.search(REFUSED[line], done.stderr.replace("\u2018", "'").replace("\u2019", "'")), done.stderr


def test_one_line_on_the_command_line(cpp_libraries: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(guide_model().SerializeToString())
    shutil.copy(cpp_libraries["failures"], tmp_path / "custom_ops.so")
    arguments = ("--input_model", "model.onnx", "--custom_library_so_paths", "custom_ops.so", "--run")
    done = python("-m", "pykernels", "run", "-m", "poprt.cli", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert (
        "a node of ai.graphcore::LeakyRelu, an op that no library has; the libraries are custom_ops.so" in done.stderr
    )


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))
    expected = "$CXX names 'no-such-compiler', which is not on the PATH. Install one"
    done = python("-m", "pykernels", "run", "false", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"pykernels: false runs without PopART's headers and library: {expected}")
    done = python("-m", "pykernels", "popart", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"pykernels: {expected}")
