"""Libraries of ops in PopART's C++, and sessions of one such op."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper

from pykernels.build import toolchain
from pykernels.vendors.popart import build, loading

SOURCES = Path(__file__).with_name("sources")


def compile_library(source: Path, output: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """As a user's Makefile does, in the environment that ``pykernels run make`` gives it."""
    command = [*toolchain.compiler(), "-std=c++14", "-fPIC", "-shared", f"-I{SOURCES}", str(source)]
    return subprocess.run(
        [*command, "-o", str(output), *flags, "-lpopart"],
        env={**os.environ, **build.environment(), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )


def run(
    library: Path, op: str, *inputs: Any, result: Any = None, domain: str = "test", **attributes: Any
) -> np.ndarray:
    """What an op makes of arrays; `result` is the dtype of its output, if not that of the first input."""
    arrays = [np.asarray(each) for each in inputs]
    names = [f"x{i}" for i in range(len(arrays))]
    types = [helper.np_dtype_to_tensor_dtype(each.dtype) for each in arrays]
    result_type = types[0] if result is None else helper.np_dtype_to_tensor_dtype(np.dtype(result))
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    values = [helper.make_tensor_value_info(name, kind, array.shape) for name, kind, array in zip(names, types, arrays)]
    graph = helper.make_graph([node], "graph", values, [helper.make_tensor_value_info("y", result_type, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    loading.register(options, [library])
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {name: array.copy() for name, array in zip(names, arrays)}
    (found,) = session.run(None, given)
    for name, array in zip(names, arrays):
        np.testing.assert_array_equal(given[name], array, "an input was changed")
    return found
