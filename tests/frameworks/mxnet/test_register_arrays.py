"""``pykernels.register``: the arrays that classes get, and every way to assign results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import classes  # noqa: F401
import mxnet as mx
import numpy as np
import pytest

import pykernels

X = np.array([-1.0, 0.0, 2.0], "float32")


def _through_a_pointer(x: Any, y: Any) -> None:
    data = ctypes.c_void_p()
    assert mx.base._LIB.MXNDArrayGetData(y.handle, ctypes.byref(data)) == 0
    ctypes.memmove(data, x.asnumpy().ctypes.data, x.asnumpy().nbytes)


def _add(x: Any, y: Any) -> None:
    y[:] = 0
    y += x


def _by_halves(x: Any, y: Any) -> None:
    y[:1] = x[:1]
    y[1:] = x[1:]


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda x, y: y.__setitem__(slice(None), x),
    "numpy": lambda x, y: y.__setitem__(slice(None), x.asnumpy()),
    "copyto": lambda x, y: x.copyto(y),
    "out": lambda x, y: mx.nd.identity(x, out=y),
    "view": lambda x, y: y.reshape((-1, 1)).__setitem__(slice(None), x.reshape((-1, 1))),
    "pointer": _through_a_pointer,
    "add": _add,
    "by halves": _by_halves,
    "nothing": lambda x, y: None,
}


class Copy(mx.operator.CustomOp):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        WAYS[self.way](in_data[0], out_data[0])


@pykernels.register("cls_copy")
class CopyProp(mx.operator.CustomOpProp):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Copy(self.way)


def copy(x: Any, way: str, **keywords: Any) -> np.ndarray:
    result: np.ndarray = mx.nd.Custom(x, op_type="cls_copy", way=way, **keywords).asnumpy()
    return result


DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


# MXNet can neither add nor slice bool.
POSSIBLE = [(w, d) for w in WAYS for d in DTYPES if w != "nothing" and (d != "bool" or w not in ("add", "by halves"))]


@pytest.mark.parametrize(("way", "dtype"), POSSIBLE)
def test_ways_to_assign(way: str, dtype: str) -> None:
    for values in ([1, 0], [0, 1, 1, 0, 0, 1, 0, 1, 1]):
        x = np.array(values, dtype)
        np.testing.assert_array_equal(copy(mx.nd.array(x, dtype=dtype), way), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, 0xA5])
def test_a_constant_is_a_result(dtype: str, value: int) -> None:
    for size in (1, 2, 9):
        x = np.full(size, value).astype(dtype)
        np.testing.assert_array_equal(copy(mx.nd.array(x, dtype=dtype), "array"), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_result_that_is_not_assigned(dtype: str, size: int) -> None:
    with pytest.raises(
        mx.MXNetError, match=r"register_arrays\.py:\d+: Copy\.forward assigned nothing to out_data\[0\]"
    ):
        copy(mx.nd.zeros(size, dtype=dtype), "nothing")


def test_a_result_in_place_that_is_not_assigned() -> None:
    x = mx.nd.array(X)
    np.testing.assert_array_equal(copy(x, "numpy", out=x), X)
    with pytest.raises(mx.MXNetError, match=r"Copy\.forward assigned nothing to out_data\[0\] \('output'\)"):
        copy(x, "nothing", out=x)


def test_nothing_needs_to_be_assigned_to_an_empty_result() -> None:
    with mx.util.np_shape(True):
        assert copy(mx.nd.zeros((0, 3)), "nothing").shape == (0, 3)


class Requests(mx.operator.CustomOp):
    """Tells what is requested of it, and assigns in each of MXNet's ways."""

    seen: ClassVar[set[tuple[str, ...]]] = set()

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        self.seen.add(("forward", *req))
        x, y = in_data[0].copy(), out_data[0]
        self.assign(y, "write", x)
        self.assign(y, "null", x * 100)
        self.assign(y, "add", x)
        self.assign(y, "inplace", y + x)

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.seen.add(("backward", *req))
        for gradient, request, factor in zip(in_grad, req, (3, 5)):
            self.assign(gradient, request, out_grad[0] * factor)


@pykernels.register("cls_requests")
class RequestsProp(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return ["a", "b"]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Requests()


def test_requests() -> None:
    Requests.seen.clear()
    symbol = mx.sym.Custom(mx.sym.var("a"), mx.sym.var("b"), op_type="cls_requests")
    for first, second in [("write", "null"), ("add", "write"), ("null", "add")]:
        executor = symbol.simple_bind(mx.cpu(), a=(3,), b=(3,), grad_req={"a": first, "b": second})
        gradients = {name: array for name, array in executor.grad_dict.items() if array is not None}
        for gradient in gradients.values():
            gradient[:] = 10
        executor.forward(is_train=True, a=mx.nd.array(X), b=mx.nd.array(X))
        executor.backward(mx.nd.ones(3))
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), 3 * X)
        for name, request, factor in [("a", first, 3), ("b", second, 5)]:
            if request != "null":
                np.testing.assert_array_equal(gradients[name].asnumpy(), np.full(3, factor + 10 * (request == "add")))
        assert ("backward", first, second) in Requests.seen
    x = mx.nd.array(X)
    mx.nd.Custom(x, x, op_type="cls_requests", out=x)
    np.testing.assert_allclose(x.asnumpy(), 3 * X)
    assert {("forward", "write"), ("forward", "inplace")} <= Requests.seen


def test_inputs_are_read_only() -> None:
    """As far as MXNet knows that of an array: its in-place operators refuse it."""

    class Add(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
            in_data[0] += 1

    @pykernels.register("cls_adds_to_input")
    class AddProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            return Add()

    x = mx.nd.array(X)
    with pytest.raises(mx.MXNetError, match=r"register_arrays\.py:\d+: Add\.forward raised ValueError: .*readonly"):
        mx.nd.Custom(x, op_type="cls_adds_to_input").wait_to_read()
    np.testing.assert_array_equal(x.asnumpy(), X)


class Square(mx.operator.CustomOp):
    """Of sparse matrices, with a sparse gradient."""

    def __init__(self, fails: str) -> None:
        super().__init__()
        self.fails = fails

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        assert (in_data[0].stype, out_data[0].stype) == ("csr", "csr")
        if self.fails == "unassigned":
            return
        self.assign(out_data[0], req[0], mx.nd.sparse.square(in_data[0]))
        if self.fails == "forward":
            raise ValueError("no such luck")

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        assert {array.stype for array in (*out_grad, *in_data, *out_data, *in_grad)} == {"csr"}
        dx = 2 * in_data[0].tostype("default") * out_grad[0].tostype("default")
        self.assign(in_grad[0], req[0], dx.tostype("csr"))


@pykernels.register("cls_sparse")
class SquareProp(mx.operator.CustomOpProp):
    def __init__(self, fails: str = "") -> None:
        super().__init__()
        self.fails = fails

    def infer_storage_type(self, in_stype: Any) -> Any:
        return ["csr"], ["csr" if self.fails != "storage" else "dense"], []

    def infer_storage_type_backward(self, ograd: Any, inputs: Any, outputs: Any, igrad: Any, aux: Any) -> Any:
        return ["csr"], ["csr"], ["csr"], ["csr"], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Square(self.fails)


DENSE = np.array([[0, 1, 0], [0, 2, 3]], "float32")


def test_sparse_arrays() -> None:
    x = mx.nd.array(DENSE).tostype("csr")
    x.attach_grad(stype="csr")
    for _ in range(10):
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="cls_sparse")
        y.backward(mx.nd.ones(x.shape).tostype("csr"))
        assert (y.stype, x.grad.stype) == ("csr", "csr")
        np.testing.assert_array_equal(y.asnumpy(), DENSE**2)
        np.testing.assert_array_equal(x.grad.asnumpy(), 2 * DENSE)


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        ("forward", r"Square\.forward raised ValueError: no such luck"),
        ("unassigned", r"Square\.forward assigned nothing to out_data\[0\]"),
        ("storage", r"SquareProp\.infer_storage_type returned .*'dense'.*; storage types are 'default', 'row_sparse'"),
    ],
)
def test_mistakes_with_sparse_arrays(fails: str, text: str) -> None:
    with pytest.raises(mx.MXNetError, match=r"op 'cls_sparse': .*test_register_arrays\.py:\d+: " + text):
        mx.nd.Custom(mx.nd.array(DENSE).tostype("csr"), op_type="cls_sparse", fails=fails).asnumpy()


class Double(mx.operator.CustomOp):
    """Of what is an ``mx.np`` array for a class that is registered for those."""

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        assert isinstance(in_data[0], mx.np.ndarray) and isinstance(out_data[0], mx.np.ndarray)
        self.assign(out_data[0], req[0], mx.np.add(in_data[0], in_data[0]))

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], 2 * out_grad[0])


@pytest.mark.filterwarnings("ignore:You are attempting to copy an array to itself:RuntimeWarning")  # self.assign
@pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 2)])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_arrays_of_mx_np(shape: tuple[int, ...], request_: str) -> None:
    custom = mx.nd.numpy._internal.Custom
    with mx.util.np_shape(True), mx.util.np_array(True):

        @pykernels.register("cls_np")
        class DoubleProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
                return Double()

        x = mx.np.ones(shape)
        x.attach_grad(request_)
        for _ in range(2):
            with mx.autograd.record():
                y = custom(x, op_type="cls_np")
            y.backward()
        assert isinstance(y, mx.np.ndarray)
        np.testing.assert_array_equal(y.asnumpy(), np.full(shape, 2))
        np.testing.assert_array_equal(x.grad.asnumpy(), np.full(shape, 4 if request_ == "add" else 2))


def test_four_threads() -> None:
    def calls(thread: int) -> None:
        for i in range(50):
            values = np.random.default_rng([thread, i]).normal(size=(thread + 1, i + 1)).astype("float32")
            x = mx.nd.array(values)
            x.attach_grad()
            with mx.autograd.record():
                y = mx.nd.Custom(mx.nd.Custom(x, op_type="cls_sigmoid"), op_type="cls_sigmoid")
            y.backward()
            inner = 1 / (1 + np.exp(-values))
            outer = 1 / (1 + np.exp(-inner))
            np.testing.assert_allclose(y.asnumpy(), outer, rtol=1e-5)
            wanted = outer * (1 - outer) * inner * (1 - inner)
            np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-4, atol=1e-7)
            with pytest.raises(mx.MXNetError, match=rf"raised ValueError: .*'{thread} {i}'"):
                mx.nd.Custom(x, op_type="cls_loss", scale=f"{thread} {i}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(calls, thread) for thread in range(4)]:
            done.result()
