"""Ops that are wrong in one framework alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from planted import failure, instead, outcomes, plant

from pykernels.checking.findings import PASSED

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
    (result,) = outcomes(plant(tmp_path), "frameworks").values()
    assert result.outcome == PASSED, result
    ways = {"MXNet": "arrays, graph", "OneFlow": "tensors, graph, training in a graph", "ONNX Runtime": "node, node "}
    for name in INSTALLED.values():
        assert f"{name}: {ways[name]}" in result.message


@pytest.mark.parametrize("package", ["mxnet", "oneflow", "onnxruntime"])
def test_another_result_in_one_framework(package: str, tmp_path: Path) -> None:
    if package not in INSTALLED:
        pytest.skip(f"{package} is not installed")
    result = failure(plant(tmp_path, kernel=only_in(package, "scale = scale + 1")), "frameworks")
    assert result.message.startswith(f"{INSTALLED[package]}, ")
    assert ": y[0] is " in result.message and "x = np.array(" in result.inputs


def test_a_crash_in_a_framework(tmp_path: Path) -> None:
    package, name = next(iter(INSTALLED.items()))
    result = failure(plant(tmp_path, kernel=only_in(package, "os.abort()")), "frameworks")
    assert result.message.startswith(f"{name}, ") and "the process is ended by SIGABRT" in result.message


def test_a_gradient_that_a_framework_gets_wrong(tmp_path: Path) -> None:
    package, name = next(iter(INSTALLED.items()))
    kernel = instead("return scale * dy", f"return dy if {package!r} in sys.modules else scale * dy", KERNEL)
    result = failure(plant(tmp_path, kernel=kernel), "frameworks")
    assert result.message.startswith(f"{name}, ") and "the gradient of x[0] is " in result.message
