"""Wrong use: a clear exception at the call or at the next sync point, and the next call is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import complex_ops
import mxnet as mx
import numpy as np
import pytest
from folders import write_op
from messages import code_of
from raising_kernels import COMPILED_RAISES, PYTHON_RAISES, returns

import pykernels
from pykernels.base import paths


@pytest.fixture(scope="module", autouse=True)
def shipped() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield


@pytest.fixture(autouse=True)
def the_next_call_is_right() -> Iterator[None]:
    yield
    x = mx.nd.array([-1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="relu")
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [0, 2])
    np.testing.assert_array_equal(x.grad.asnumpy(), [0, 1])


ONE = mx.nd.array([[1.0, 2.0]])
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "too many inputs": (
        lambda: mx.nd.Custom(ONE, ONE, op_type="relu"),
        "Operator Custom expects 1 inputs, but got 2",
    ),
    "too few inputs": (lambda: mx.nd.Custom(ONE, op_type="dense"), "Operator Custom expects 2 inputs, but got 1"),
    "no inputs": (lambda: mx.nd.Custom(op_type="relu"), "Operator Custom expects 1 inputs, but got 0"),
    "wrong dtype": (
        lambda: mx.nd.Custom(ONE.astype("int32"), op_type="sigmoid"),
        r"op 'sigmoid' for x: int32 \(1, 2\): .*sigmoid_cpp_def.cpp:\d+: .*floating point",
    ),
    "mixed dtypes": (
        lambda: mx.nd.Custom(ONE, ONE.astype("float64"), op_type="dense"),
        "op 'dense' for data: float32 .*weight must have the dtype of data",
    ),
    "wrong rank": (
        lambda: mx.nd.Custom(mx.nd.ones((1, 2, 3)), ONE, op_type="dense"),
        r"op 'dense' for data: \(1, 2, 3\), weight: \(1, 2\): .*data must have 2 axes",
    ),
    "wrong shape": (
        lambda: mx.nd.Custom(ONE, mx.nd.ones((4, 3)), op_type="dense"),
        "weight must have the shape .outputs, inputs., here .4, 2., but has .4, 3.",
    ),
    "unknown op": (lambda: mx.nd.Custom(ONE, op_type="rleu"), "Cannot find custom operator rleu"),
    "no op": (lambda: mx.nd.Custom(ONE), "Required argument `op_type` is missing"),
    "unknown attribute": (
        lambda: mx.nd.Custom(ONE, op_type="leaky_relu", alhpa=1),
        r"op 'leaky_relu' has no attribute 'alhpa'; did you mean 'alpha'\?",
    ),
    "malformed attribute": (
        lambda: mx.nd.Custom(ONE, op_type="softmax", axis="last"),
        "op 'softmax': attribute 'axis' must be a 32-bit integer such as 3, got 'last'",
    ),
    "attribute out of range": (
        lambda: mx.nd.Custom(ONE, op_type="softmax", axis=5),
        "op 'softmax' for x: .*axis is 5, but x has 2 axes",
    ),
    "csr": (
        lambda: mx.nd.Custom(ONE.tostype("csr"), op_type="relu"),
        r"op 'relu': 'x' is a csr array, but kernels compute with dense ones; convert it with .tostype\('default'\)",
    ),
    "row_sparse": (lambda: mx.nd.Custom(ONE.tostype("row_sparse"), op_type="relu"), "'x' is a row_sparse array"),
    "wrong out": (
        lambda: mx.nd.Custom(ONE, op_type="relu", out=mx.nd.zeros((3, 3))),
        r"Shape inconsistent, Provided = \[3,3\], inferred shape=\[1,2\]",
    ),
}
#: These MXNet finds without asking an op.
OF_MXNET = {"no op", "wrong out"}


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls_fail_at_the_call(case: str) -> None:
    call, message = CALLS[case]
    with pytest.raises(mx.MXNetError, match=message) as raised:
        call()
    assert case in OF_MXNET or code_of(raised.value) == "PK400"


def test_errors_show_the_shapes_of_their_own_call() -> None:
    for array in (ONE, mx.nd.ones((3, 4))):
        mx.nd.Custom(array, op_type="sigmoid")
    test_wrong_calls_fail_at_the_call("wrong dtype")


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls_fail_while_recording(case: str) -> None:
    call, message = CALLS[case]
    ONE.attach_grad()
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match=message):
        call()


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(mx.MXNetError, match="(?i)gpu"):
        mx.nd.Custom(mx.nd.ones(2, ctx=mx.gpu()), op_type="relu")
    graph = mx.sym.Custom(mx.sym.var("x"), op_type="relu")
    with pytest.raises((mx.MXNetError, RuntimeError), match="(?i)gpu"):
        graph.simple_bind(mx.gpu(), x=(2,))


def test_a_sparse_gradient_is_refused() -> None:
    x = mx.nd.ones((2, 2))
    x.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="relu")
    with pytest.raises(mx.MXNetError, match="row_sparse array, but kernels compute with dense ones"):
        y.backward()
        mx.nd.waitall()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("kernel", [COMPILED_RAISES, PYTHON_RAISES], ids=["compiled", "python"])
def test_a_kernel_that_raises(load: Callable[..., str], kernel: str) -> None:
    name = load(kernel)
    y = mx.nd.Custom(mx.nd.ones(3), op_type=name)
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=rf"{name}_py_kernel.py:\d+.*ValueError: three is too many") as raised:
            y.wait_to_read()
        assert code_of(raised.value) == "PK300"
    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    np.testing.assert_array_equal(y.asnumpy(), [1, 1])
    y.backward()
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=rf"{name}_py_kernel.py:\d+.*ZeroDivisionError: no gradient of two"):
            x.grad.wait_to_read()
    assert mx.nd.Custom(mx.nd.ones(1), op_type=name).asscalar() == 1.0


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("return x[:1]", "(1,)"),
        ("return x.astype(np.int32)", "int32"),
        ("return x, x", "returned 2"),
        ("return None", "None"),
    ],
    ids=["shape", "dtype", "count", "none"],
)
def test_a_kernel_that_returns_something_else(load: Callable[..., str], statement: str, told: str) -> None:
    name = load(returns(statement))
    with pytest.raises(mx.MXNetError, match=rf"{name}_py_kernel.py:\d+: forward") as caught:
        mx.nd.Custom(mx.nd.ones((3,)), op_type=name).wait_to_read()
    assert told in str(caught.value) and code_of(caught.value) == "PK300"


@pytest.mark.filterwarnings("ignore:.*does not raise:pykernels.PykernelsWarning")
def test_a_run_that_fails_in_compiled_code_only_is_pythons(load: Callable[..., str]) -> None:
    name = load(returns("return (np.cov(x) + x).astype(x.dtype)"))
    made = mx.nd.Custom(mx.nd.array([[1, 2, 3]]), op_type=name).asnumpy()
    np.testing.assert_allclose(made, [[2, 3, 4]])


def test_a_definition_that_does_not_compile_fails_at_the_call(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "broken_definition", "def forward(args):\n    return args[0]")
    (folder / "broken_definition_py_def.py").unlink()
    (folder / "broken_definition_cpp_def.cpp").write_text(
        '#include "oneflow/core/framework/framework.h"\nREGISTER_USER_OP("broken_definition_forward").Inptu("x");\n'
    )
    pykernels.load_ops(folder)
    try:
        with pytest.raises(mx.MXNetError, match=r"broken_definition_cpp_def.cpp:2.*Inptu"):
            mx.nd.Custom(ONE, op_type="broken_definition")
    finally:
        pykernels.unload_ops("broken_definition")


def test_an_op_type_that_its_folder_does_not_define(load: Callable[..., str]) -> None:
    name = load("def forward(args):\n    return args[0] * 1\n\ndef backward(args):\n    return args[0] * 1")
    mx.nd.Custom(ONE, op_type=name)
    with pytest.raises(mx.MXNetError, match="Cannot find custom operator"):
        mx.nd.Custom(ONE, op_type=f"{name}_sideways")


def test_errors_of_one_op_do_not_reach_others(load: Callable[..., str]) -> None:
    """Many failures in flight beside calls that are right."""
    name = load(COMPILED_RAISES)
    good = [mx.nd.full(2, i) for i in range(50)]
    results, failures = [], []
    for each in good:
        failures.append(mx.nd.Custom(mx.nd.ones(3), op_type=name))
        results.append(mx.nd.Custom(each, op_type=name))
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result.asnumpy(), [i, i])
    for failure in failures:
        with pytest.raises(mx.MXNetError, match="three is too many"):
            failure.wait_to_read()
    with pytest.raises(mx.MXNetError, match="three is too many"):
        mx.nd.Custom(mx.nd.ones(3), op_type=name)
        mx.nd.waitall()
    mx.nd.waitall()


def test_a_definition_that_does_not_compile_is_reported_in_one_line(tmp_path: Path) -> None:
    kernel = "def forward(args):\n    return args[0]\n\ndef backward(args):\n    return args[0]\n"
    folder = write_op(tmp_path, "uncompiled", kernel)
    (folder / "uncompiled_py_def.py").unlink()
    (folder / "uncompiled_cpp_def.cpp").write_text("int x = y;\n")
    pykernels.load_ops(folder)
    with pytest.raises(mx.MXNetError) as raised:
        mx.nd.Custom(ONE, op_type="uncompiled").wait_to_read()
    pykernels.unload_ops("uncompiled")
    where = f"{folder}/uncompiled_cpp_def.cpp:1"
    assert str(raised.value).strip() == f"MXNetError: {where}: 'y' was not declared in this scope [PK200]"


def test_complex_results_are_refused_by_name(tmp_path: Path) -> None:
    polar = pykernels.load_ops(complex_ops.write_ops(tmp_path) / "polar")["polar"].api.polar
    with pytest.raises(mx.MXNetError, match="op 'polar_forward': 'y' has dtype complex64, but MXNet has no tensors of"):
        polar(mx.nd.ones(3), mx.nd.ones(3))
    pykernels.unload_ops("polar")
