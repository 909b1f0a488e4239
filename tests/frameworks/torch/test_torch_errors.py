"""What goes wrong with an op is a Python exception at the call, which says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from messages import code_of
from process import HELPERS, program

import pykernels
from pykernels.base.errors import DefinitionError, KernelError

pytestmark = pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")

RAISES = """
    def forward(args):
        x, = args
        if x.size > 3:
            raise ValueError(f"no more than 3 elements, not {x.size}")
        return x * 2

    def backward(args):
        return args[0]
"""
#: These PyTorch finds without asking an op.
OF_PYTORCH = {
    "missing value for argument 'x'",
    "at most 1 argument",
    "argument 'x'",
    "Unknown keyword argument 'alfa'",
}
BACKWARD = "\n\ndef backward(args):\n    return args[0]\n"


def test_an_exception_in_compiled_code(load: Callable[..., str], enter: Callable[..., Any], tmp_path: Path) -> None:
    name = load(RAISES)
    op = enter(name)
    assert op(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(
        RuntimeError, match=rf"op '{name}_forward': .*{name}_py_kernel.py:5: .*ValueError: no more than 3"
    ) as raised:
        op(torch.ones(4))
    assert code_of(raised.value) == "PK300"
    assert op(torch.ones(2)).tolist() == [2, 2]


def test_an_exception_in_python(load: Callable[..., str], enter: Callable[..., Any]) -> None:
    name = load("import os\n\ndef forward(args):\n    os.stat('/nowhere')\n    return args[0]\n" + BACKWARD)
    with pytest.raises(RuntimeError, match=rf"{name}_py_kernel.py:4: .*FileNotFoundError"):
        enter(name)(torch.ones(4))


def test_a_wrong_shape(load: Callable[..., str], enter: Callable[..., Any]) -> None:
    name = load("def forward(args):\n    x, = args\n    return x[: x.size // 2]\n" + BACKWARD)
    with pytest.raises(
        RuntimeError, match=rf"op '{name}_forward': .*returned shape \(2,\) .* definition infers \(4,\)"
    ):
        enter(name)(torch.ones(4))


def test_an_exception_in_a_gradient(load: Callable[..., str], enter: Callable[..., Any]) -> None:
    definition = """
        import pykernels


        class Prop(pykernels.CustomOpProp):
            def __init__(self):
                super().__init__(need_top_grad=True)
    """
    kernel = """
    def forward(args):
        return args[0] * 2

    def backward(args):
        dy, x, y = args
        if dy.size > 1:
            raise ValueError("told in the backward pass")
        return dy
    """
    name = load(kernel, definition=definition)
    y = enter(name)(torch.ones(4, requires_grad=True))
    with pytest.raises(RuntimeError, match=rf"op '{name}_backward': .*told in the backward pass"):
        y.sum().backward()


# PyTorch's own warnings of tensors that it may change.
@pytest.mark.filterwarnings("ignore:.*(nested tensors|CSR|uantize).*:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantize.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda ops: ops.sigmoid(), "missing value for argument 'x'"),
        (lambda ops: ops.sigmoid(torch.ones(2), torch.ones(2)), "at most 1 argument"),
        (lambda ops: ops.sigmoid("text"), "argument 'x'"),
        (lambda ops: ops.leaky_relu(torch.ones(2), alfa=1.0), "Unknown keyword argument 'alfa'"),
        (lambda ops: ops.softmax(torch.ones(2, 3), axis=2), "softmax_forward.*axis"),
        (lambda ops: ops.dense(torch.ones(2, 3), torch.ones(2, 4)), "dense_forward"),
        (
            lambda ops: ops.sigmoid(torch.ones(2, dtype=torch.complex64)),
            r"sigmoid_cpp_def.cpp:\d+: x must be floating point, but is complex64",
        ),
        (lambda ops: ops.sigmoid(torch.ones(2).to(torch.float8_e5m2)), "'x' has dtype .*[Ff]loat8_e5m2"),
        (
            lambda ops: ops.embedding(torch.tensor([7]), torch.ones(2, 3)),
            "embedding_py_kernel.py.*index 7 is out of range",
        ),
        (lambda ops: ops.sigmoid(torch.ones((1,) * 21)), "21 axes"),
        (lambda ops: ops.sigmoid(torch.ones(2).to_sparse()), r"'x' is a sparse tensor, .*: x.to_dense\(\)"),
        (
            lambda ops: ops.sigmoid_backward(torch.ones(2, 2), torch.eye(2).to_sparse_csr()),
            "'sigmoid_backward': 'dy' is a sparse tensor",
        ),
        (
            lambda ops: ops.sigmoid(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)),
            r"'x' is a quantized tensor, .*: x.dequantize\(\)",
        ),
        (
            lambda ops: ops.sigmoid(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)),
            r"'x' is a nested tensor, .*: call it on x.values\(\), and torch.nested.nested_tensor_from_jagged",
        ),
        (
            lambda ops: ops.sigmoid(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
            r"'x' is a nested tensor, .*: call it on each tensor of x.unbind\(\)",
        ),
        (
            lambda ops: [ops.dense(torch.ones(n, 0), torch.ones(n, 0)) for n in (2, 2**20)],
            r"dense_cpp_def.cpp:\d+ infers \(1048576, 1048576\) for its output 'y': Unable to allocate 4",
        ),
    ],
)
def test_wrong_calls(ops: Any, call: Callable[[Any], Any], told: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match=told) as raised:
        call(ops)
    assert told in OF_PYTORCH or code_of(raised.value) == ("PK300" if "kernel" in told else "PK400")


def test_an_unknown_op(ops: Any) -> None:
    with pytest.raises(AttributeError, match="op 'nothing' is not loaded; the loaded ops are: .*sigmoid") as raised:
        _ = ops.nothing
    assert code_of(raised.value) == "PK100"
    with pytest.raises(AttributeError, match=r"there is no op 'sigmoid_sideways': .* has sigmoid, sigmoid_backward"):
        _ = ops.sigmoid_sideways
    assert not hasattr(ops, "nothing")
    assert {"sigmoid", "nms"} <= set(dir(ops))


def test_a_folder_that_is_wrong_is_reported_where_it_is_asked_for(
    load: Callable[..., str], enter: Callable[..., Any]
) -> None:
    name = load("def forward(args):\n    return args[0]\n", definition="import pykernels\n")
    with pytest.raises(DefinitionError, match=f"{name}_py_def.py"):
        enter(name)


def test_a_kernel_cannot_call_ops(load: Callable[..., str]) -> None:
    inner = load("def forward(args):\n    return args[0] * 2\n" + BACKWARD)
    outer = load(
        f"""
        import torch, pykernels

        def forward(args):
            pykernels.list_ops()["{inner}"].api.{inner}(torch.from_numpy(args[0].copy()))
            return args[0]

        def backward(args):
            return args[0]
        """
    )
    with pytest.raises((RuntimeError, KernelError), match="combine ops in the API file"):
        getattr(torch.ops.pykernels, outer)(torch.ones(3))


@pytest.mark.thorough
def test_without_a_compiler_there_is_a_warning_and_the_same_result(tmp_path: Path) -> None:
    done = program(
        """
        import warnings, numpy as np, torch, pykernels
        from folders import write_op
        from pathlib import Path

        KERNEL = "def forward(args):\\n    return args[0] * 2\\n\\ndef backward(args):\\n    return args[0]\\n"
        pykernels.load_ops(write_op(Path.cwd(), "twice", KERNEL))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            print(torch.ops.pykernels.twice(torch.ones(2)).tolist())
        print([str(each.message) for each in told if "called through Python" in str(each.message)])
        """,
        cwd=tmp_path,
        PYKERNELS_CACHE=str(tmp_path / "cache"),
        CXX="/nowhere/c++",
        PYTHONPATH=f"{pykernels.__path__[0]}/..:{HELPERS}",
    )
    first, second = done.stdout.strip().splitlines()
    assert first == "[2.0, 2.0]"
    assert "$CXX names '/nowhere/c++'" in second
