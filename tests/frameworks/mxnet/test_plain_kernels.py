"""Kernels that call the framework, which may be waiting for them: refused when their file is read."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import process
import pytest
from folders import write_op

import pykernels
from pykernels.kernel.read.source import KernelSource

USES = {
    "module": ("import mxnet as mx", "return mx.nd.ones((1,)).asnumpy()", "forward uses mxnet (mx)"),
    "waiting": ("import mxnet", "mxnet.nd.waitall()\n    return args[0]", "forward uses mxnet (mxnet)"),
    "submodule": ("from mxnet import nd as array", "return array.ones(1)", "forward uses mxnet (array)"),
    "function": ("from mxnet.ndarray import relu", "return relu(args[0])", "forward uses mxnet (relu)"),
    "class": ("from mxnet.ndarray import NDArray", "return NDArray", "forward uses mxnet (NDArray)"),
    "array": ("import mxnet as mx\nTABLE = mx.nd.ones(3)", "return TABLE.asnumpy()", "forward uses mxnet (TABLE)"),
    "method": ("import mxnet as mx\nread = mx.nd.ones(3).asnumpy", "return read()", "forward uses mxnet (read)"),
    "import inside": ("", "import mxnet.nd as nd\n    return nd", "forward uses mxnet (import mxnet.nd)"),
    "from inside": ("", "from torch.nn import functional\n    return 1", "forward uses torch (import torch.nn)"),
    "onnxruntime inside": ("", "import onnxruntime\n    return 1", "forward uses onnxruntime (import onnxruntime)"),
    "comprehension": ("import mxnet", "return [mxnet.nd.ones(1) for _ in args]", "forward uses mxnet (mxnet)"),
    "inner function": (
        "",
        "def inner():\n        import oneflow\n    return inner",
        "forward uses oneflow (import oneflow)",
    ),
    "branch": ("import mxnet", "if args[0].size > 9:\n        mxnet.nd.waitall()\n    return args[0]", "(mxnet)"),
    "folder's module": ("import tools", "return tools.ones()", "tools.py:5: ones uses mxnet (mx)"),
    "its mxnet": ("import tools", "return tools.mx.nd.ones(1)", "forward uses mxnet (tools.mx)"),
    "compiled helper": (
        "import mxnet, numba\n@numba.njit\ndef help(x):\n    return mxnet\n",
        "return help(args[0])",
        "help uses mxnet (mxnet)",
    ),
    "user's class": (
        "import mxnet\nclass Help:\n    def me(self):\n        return mxnet.nd",
        "return Help().me()",
        "me uses mxnet (mxnet)",
    ),
}
TOOLS = """import mxnet as mx
import numpy as np

def ones():
    return mx.nd.ones(1)

def zeros():
    return np.zeros(1)
"""


def write(folder: Path, before: str, body: str) -> Path:
    (folder / "tools.py").write_text(TOOLS)
    path = folder / "op_py_kernel.py"
    path.write_text(f"{before}\ndef forward(args):\n    {body}\n")
    return path


@pytest.mark.parametrize("use", USES)
def test_uses_are_refused(tmp_path: Path, use: str) -> None:
    before, body, told = USES[use]
    with pytest.raises(pykernels.KernelError, match=re.escape(told)) as refused:
        KernelSource(write(tmp_path, before, body))
    assert re.match(rf"{tmp_path}/(op_py_kernel|tools)\.py:\d+: \w+ uses ", str(refused.value))
    assert str(refused.value).endswith(
        "kernels are plain NumPy code: a call of the framework that runs a kernel may wait for the kernel. Compute "
        "with NumPy; combine ops in the API file; or register a class that computes with NDArrays "
        "(pykernels.register) [PK300]"
    )


def test_the_line_is_reported(tmp_path: Path) -> None:
    body = "x = args[0]\n    y = x + 1\n\n    return (y +\n            mx.nd.ones(1))"
    with pytest.raises(pykernels.KernelError, match=r"op_py_kernel\.py:8: forward"):
        KernelSource(write(tmp_path, "import mxnet as mx\n", body))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("import mxnet as mx", "return args[0]"),
        ("import mxnet as mx\n\ndef show(x):\n    print(mx.nd.array(x))\n", "return args[0]"),
        ("import mxnet as mx", "mx = args[0].max()\n    return mx * 2"),
        ("import tools", "return tools.zeros()"),
        ("import numpy as np", "torch = {'mxnet': 1}\n    return np.ones(1) * torch['mxnet']"),
    ],
    ids=["imported", "used beside", "a variable's name", "folder's module", "other names"],
)
def test_what_no_kernel_uses_is_allowed(tmp_path: Path, before: str, body: str) -> None:
    """A file may have a second use, as a script that compares with the framework, say."""
    source = KernelSource(write(tmp_path, before, body))
    assert list(source.functions) == ["forward"]
    parts = source.functions["forward"].fingerprint
    assert {each for each in parts if str(each).endswith(".py")} <= {"op_py_kernel.py", "tools.py"}, "not MXNet's files"


def test_installed_packages_may_know_frameworks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "some_library.py"
    package.parent.mkdir()
    package.write_text("def double(x):\n    if hasattr(x, 'cuda'):\n        import torch\n    return 2 * x\n")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setitem(sys.modules, "some_library", None)
    monkeypatch.delitem(sys.modules, "some_library")
    (tmp_path / "op").mkdir()
    KernelSource(write(tmp_path / "op", "import some_library", "return some_library.double(args[0])"))


def test_ops_of_installed_packages_are_checked(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages" / "op"
    folder.mkdir(parents=True)
    with pytest.raises(pykernels.KernelError, match=r"tools.py:5: ones uses mxnet"):
        KernelSource(write(folder, "import tools", "return tools.ones()"))


@pytest.mark.thorough
def test_at_the_call(tmp_path: Path) -> None:
    kernel = """
        import mxnet as mx

        def forward(args):
            return args[0] + mx.nd.ones((1,)).asnumpy()

        def backward(args):
            return args[0]
    """
    folder = write_op(tmp_path, "calls_mxnet", kernel)
    program = f"""
        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels

        pykernels.load_ops({str(folder)!r})
        for _ in range(2):
            try:
                mx.nd.Custom(mx.nd.ones(1), op_type="calls_mxnet").asnumpy()
            except mx.MXNetError as error:
                print(error)
        pykernels.load_ops()
        print(mx.nd.Custom(mx.nd.ones(1), op_type="relu").asnumpy())
    """
    said = process.program(textwrap.dedent(program), cwd=tmp_path).stdout
    assert said.count("calls_mxnet_py_kernel.py:5: forward uses mxnet (mx), but kernels are plain NumPy code") == 2
    assert said.endswith("[1.]\n")
