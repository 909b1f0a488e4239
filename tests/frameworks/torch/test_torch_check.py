"""``python -m pykernels check`` where PyTorch is: the op on tensors, and in what is compiled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pykernels.base import paths
from pykernels.testing import opcheck


def test_a_right_op_passes() -> None:
    opcheck(paths.OPS / "leaky_relu", checks=["frameworks"])


@pytest.mark.thorough
def test_an_op_that_is_wrong_beside_pytorch(tmp_path: Path) -> None:
    folder = tmp_path / "tanh"
    shutil.copytree(paths.OPS / "tanh", folder)
    kernel = folder / "tanh_py_kernel.py"
    _, name, rest = kernel.read_text().partition("def backward_backward")
    kernel.write_text(
        "import sys\n\nimport numpy as np\n\n\n"
        "def forward(args):\n    return np.tanh(np.asarray(args[0].tolist(), args[0].dtype))\n\n\n"
        "def backward(args):\n    y, dy = args\n    dy = np.asarray(dy.tolist(), y.dtype)\n"
        "    return dy if 'torch' in sys.modules else dy * (1 - y * y)\n\n\n" + name + rest
    )
    with pytest.raises(AssertionError, match=r"tanh, frameworks: PyTorch, tensors: the gradient of x\[0\] is "):
        opcheck(folder, checks=["frameworks"])
