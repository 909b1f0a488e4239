"""Ops that are wrong in one framework alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from planted import DEFINITION, assert_shown_again, failure, instead, outcomes, plant

from pykernels.tools.check.findings import PASSED

INSTALLED = {
    package: name
    for package, name in {"mxnet": "MXNet", "oneflow": "OneFlow", "onnxruntime": "ONNX Runtime"}.items()
    if importlib.util.find_spec(package)
}


# What numba cannot compile looks at modules when it runs, not when it is compiled.
KERNEL = instead("import numpy as np", "import os\n    import sys\n    import numpy as np")
KERNEL = instead("(x,) = args", "(x,) = args\n        x = np.asarray(x.tolist(), x.dtype)", KERNEL)
KERNEL = instead("dy, x, y = args", "dy, x, y = args\n        dy = np.asarray(dy.tolist(), x.dtype)", KERNEL)


def only_in(package: str, line: str) -> str:
    """A kernel that does something more where this framework is."""
    return instead(
        "return scale * x", f"if {package!r} in sys.modules:\n            {line}\n        return scale * x", KERNEL
    )


def test_a_right_op_passes(tmp_path: Path) -> None:
    (result,) = outcomes(plant(tmp_path), "frameworks", is_apart=True).values()
    assert result.outcome == PASSED, result
    ways = {
        "MXNet": "arrays, arrays outside of training, graph, graph outside of training, slices",
        "OneFlow": "tensors, graph, training in a graph, strided tensors",
        "ONNX Runtime": "node, node planted_backward, node of strided arrays",
    }
    assert "NumPy: arrays, strided arrays (" in result.message and "float32, float64, float16)" in result.message
    for name in INSTALLED.values():
        assert f"{name}: {ways[name]}" in result.message


@pytest.mark.thorough
def test_a_crash_in_a_framework(tmp_path: Path) -> None:
    package, name = next(iter(INSTALLED.items()))
    result = failure(plant(tmp_path, kernel=only_in(package, "os.abort()")), "frameworks", is_apart=True)
    assert result.message.startswith(f"{name}, ") and "the process was ended by SIGABRT" in result.message
    assert_shown_again(result, tmp_path)


@pytest.mark.thorough
def test_a_gradient_that_a_framework_gets_wrong(tmp_path: Path) -> None:
    package, name = next(iter(INSTALLED.items()))
    kernel = instead("return scale * dy", f"return dy if {package!r} in sys.modules else scale * dy", KERNEL)
    result = failure(plant(tmp_path, kernel=kernel), "frameworks", is_apart=True)
    assert result.message.startswith(f"{name}, ") and "the gradient of x[0] is " in result.message


def test_an_op_without_a_gradient_function(tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=instead("def backward", "def backwards", KERNEL))
    assert "the function backward(args) is missing" in failure(folder, "frameworks", is_apart=True).message


#: What the API files of new ops look like.
API = """
    import pykernels


    def planted(x, scale=2.0):
        return (
            pykernels.user_op_builder("planted")
            .Op("planted_forward")
            .Input("x", [x])
            .Output("y")
            .Attr("scale", scale)
            .Build()
            .InferAndTryRun()
            .SoleOutputBlob()
        )
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("api", "text"),
    [
        (instead("scale)\n            .Build", "2.0)\n            .Build", API), "arrays by the API function: y"),
        (instead("[x]", "[x * (1 // 0)]", API), "the API function: ZeroDivisionError: "),
        (
            instead("[x]", "[x if x.flags.c_contiguous else x[::-1]]", API),
            "strided arrays by the API function: y[",
        ),
    ],
)
def test_the_api_function_gives_something_else(api: str, text: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, api=api), "frameworks", is_apart=True)
    assert result.message.startswith(f"NumPy, {text}"), result.message
    assert_shown_again(result, tmp_path)


@pytest.mark.thorough
def test_an_api_function_that_does_more_than_the_op(tmp_path: Path) -> None:
    """It is compared with itself: what it gives to NumPy's arrays is what it must give elsewhere."""
    api = instead("scale=2.0", "scale=2.0, times=3", instead(".SoleOutputBlob()", ".SoleOutputBlob() * times", API))
    (result,) = outcomes(plant(tmp_path, api=api), "frameworks", is_apart=True).values()
    assert result.outcome == PASSED, result
    assert "and all this by the API function" in result.message


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "before", "package", "inputs"),
    [
        ("scale = scale + 1", "x.dtype.itemsize == 8", "mxnet", "np.float64"),
        ("scale = abs(scale)", "scale < 0", "mxnet", "scale = -"),
        ("raise ValueError('not that')", "x.ndim == 0", "oneflow", "x = np.array("),
        # MXNet runs nothing for them.
        ("raise ValueError('not that')", "x.size == 0", "onnxruntime", "x = np.empty("),
    ],
)
def test_what_is_wrong_for_some_calls_alone(line: str, before: str, package: str, inputs: str, tmp_path: Path) -> None:
    if package not in INSTALLED:
        pytest.skip(f"{package} is not installed")
    name = INSTALLED[package]
    kernel = only_in(package, f"if {before}:\n                {line}")
    result = failure(plant(tmp_path, kernel=kernel), "frameworks", is_apart=True)
    assert result.message.startswith(f"{name}, ")
    assert inputs in result.inputs


@pytest.mark.thorough
def test_a_state_that_a_framework_gets_wrong(tmp_path: Path) -> None:
    package, name = next(iter(INSTALLED.items()))
    definition = instead(
        "def infer_shape",
        "def list_auxiliary_states(self):\n            return ['n']\n\n        def infer_shape",
        DEFINITION,
    )
    definition = instead("return in_shape, in_shape, []", "return in_shape, in_shape, [[1]]", definition)
    definition = instead("return in_type, in_type, []", "return in_type, in_type, in_type", definition)
    kernel = KERNEL.replace("(x,) = args", "x, n = args").replace("dy, x, y = args", "dy, x, y, n = args")
    right = instead("return scale * x", "n += 1\n        return scale * x", kernel)
    (result,) = outcomes(plant(tmp_path, kernel=right, definition=definition), "frameworks", is_apart=True).values()
    assert result.outcome == PASSED, result
    wrong = instead("n += 1", f"n += 2 if {package!r} in sys.modules else 1", right)
    (tmp_path / "wrong").mkdir()
    result = failure(plant(tmp_path / "wrong", kernel=wrong, definition=definition), "frameworks", is_apart=True)
    assert result.message.startswith(f"{name}, ") and ": afterwards n[0] is " in result.message
