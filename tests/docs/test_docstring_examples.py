"""The examples in docstrings are run, each with what it takes for granted."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib.util
import textwrap
from pathlib import Path

import pytest
from process import CHECKOUT, program

# A model with one of our nodes, as the examples for ONNX have it.
_MODEL = """
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
import onnxruntime
import pykernels.onnx
pykernels.load_ops()
a, b = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "ab")
graph = helper.make_graph([helper.make_node("relu", ["a"], ["b"], domain="pykernels")], "graph", [a], [b])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pykernels", 1)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
onnx.save(model, "model.onnx")
"""
# By function: the package that its example needs, and what comes before it.
_BEFORE = {
    "user_op_builder": ("numpy", "pykernels.load_ops(); x = np.float32([-1, 1])"),
    "Function": ("numpy", "pykernels.load_ops(); x = np.float32([-1, 1])"),
    "custom_op_module": (
        "numpy",
        "import shutil; shutil.copytree(pykernels.base.paths.OPS / 'relu', 'ops/relu'); x = np.ones(3)",
    ),
    "opcheck": (
        "hypothesis",
        "import pykernels.tools.cli; pykernels.tools.cli.main(['new', 'gain']); from pykernels.testing import opcheck",
    ),
    "synchronized": ("numpy", "from unittest.mock import Mock; library = Mock()"),
    "register": ("mxnet", "import pykernels.compat.mxnet, mxnet as mx"),
    "reference_ops": ("onnxruntime", _MODEL),
    "session_options": ("onnxruntime", _MODEL),
    "session": ("onnxruntime", _MODEL),
    "export_torch": (
        "onnxscript",
        "import torch, pykernels.onnx; pykernels.load_ops(); x = torch.ones(3, 2); model = torch.nn.ReLU().eval()",
    ),
    "global_function": (
        "oneflow",
        "import pykernels.vendors.oneflow_legacy, oneflow as flow, oneflow.typing as tp",
    ),
}


@functools.cache
def _examples() -> dict[str, str]:
    """The code of the examples, by the name of the function that has them."""
    found = {}
    for file in (CHECKOUT / "pykernels").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                examples = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
                if examples:
                    assert node.name not in found, f"two functions {node.name} have examples"
                    found[node.name] = "".join(example.source for example in examples)
    return found


def test_all_examples_are_run() -> None:
    assert sorted(_examples()) == sorted(_BEFORE)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(_BEFORE))
def test_the_example_runs(name: str, tmp_path: Path) -> None:
    needed, before = _BEFORE[name]
    spec = importlib.util.find_spec(needed)
    # A folder of tests is found, too, but has no origin.
    if spec is None or spec.origin is None:
        pytest.skip(f"the example needs {needed}, which is not installed")
    program(f"import numpy as np\nimport pykernels\n{before}\n{textwrap.dedent(_examples()[name])}", cwd=tmp_path)
