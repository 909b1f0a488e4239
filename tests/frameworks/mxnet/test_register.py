"""``pykernels.register``: classes written for ``mx.operator.register`` run, and tell what is wrong with them."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import classes
import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.frameworks.mxnet import classes as mxnet_classes

X = np.array([-1.0, 0.0, 2.0], "float32")
Y = 1 / (1 + np.exp(-X))


@pytest.fixture(autouse=True)
def the_next_call_is_right() -> Iterator[None]:
    yield
    mx.nd.waitall()
    np.testing.assert_allclose(mx.nd.Custom(mx.nd.array(X), op_type="cls_sigmoid").asnumpy(), Y, rtol=1e-6)


def start(*inputs: Any, **attributes: Any) -> Callable[[], np.ndarray]:
    """Begin a call of ``cls_sigmoid``; what is returned reads its result.

    An error is raised where that is read. MXNet's NaiveEngine raises it at the call already.
    """
    try:
        y = mx.nd.Custom(*inputs, op_type="cls_sigmoid", **attributes)
    except mx.MXNetError as error:
        return functools.partial(_raise, error)
    return y.asnumpy


def _raise(error: Exception) -> NoReturn:
    raise error


def run(x: np.ndarray = X, **attributes: Any) -> tuple[np.ndarray, np.ndarray]:
    array = mx.nd.array(x, dtype=x.dtype)
    array.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(array, op_type="cls_sigmoid", **attributes)
    y.backward()
    return y.asnumpy(), array.grad.asnumpy()


def test_state_on_self() -> None:
    y, gradient = run()
    np.testing.assert_allclose(y, Y, rtol=1e-6)
    np.testing.assert_allclose(gradient, Y * (1 - Y), rtol=1e-6)
    assert run(X.astype("float64"))[0].dtype == np.float64


@pytest.mark.parametrize("hybrid", [None, {}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}])
def test_gluon(hybrid: dict[str, bool] | None) -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Custom(x, op_type="cls_sigmoid") * 3

    net = Net()
    if hybrid is not None:
        net.hybridize(**hybrid)
    for _ in range(3):
        x = mx.nd.array(X)
        x.attach_grad()
        with mx.autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), 3 * Y, rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), 3 * Y * (1 - Y), rtol=1e-6)


@pytest.mark.parametrize("request_", ["write", "add", "null"])
def test_executors_and_requests(request_: str) -> None:
    symbol = mx.sym.load_json(mx.sym.Custom(mx.sym.var("x"), op_type="cls_sigmoid", name="s").tojson())
    executor = symbol.simple_bind(mx.cpu(), x=(3,), grad_req=request_)
    if request_ != "null":
        executor.grad_dict["x"][:] = 10
    for _ in range(2):
        executor.forward(is_train=True, x=mx.nd.array(X))
        executor.backward(mx.nd.ones(3))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), Y, rtol=1e-6)
    if request_ != "null":
        wanted = {"write": Y * (1 - Y), "add": 10 + 2 * Y * (1 - Y)}[request_]
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), wanted, rtol=1e-6)


def test_the_result_may_go_into_the_input() -> None:
    x = mx.nd.array(X)
    mx.nd.Custom(x, op_type="cls_sigmoid", out=x)
    np.testing.assert_allclose(x.asnumpy(), Y, rtol=1e-6)


def test_a_loss_with_labels() -> None:
    symbol = mx.sym.Custom(mx.sym.var("data"), mx.sym.var("label"), op_type="cls_loss", scale=0.5, name="loss")
    assert symbol.infer_shape(data=(2, 3)) == ([(2, 3), (2,)], [(2, 3)], [])
    executor = symbol.simple_bind(mx.cpu(), data=(2, 3), grad_req={"data": "write", "label": "null"})
    executor.forward(is_train=True, data=mx.nd.zeros((2, 3)), label=mx.nd.array([0, 2]))
    executor.backward()
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.full((2, 3), 1 / 3), rtol=1e-6)
    wanted = 0.5 * (np.full((2, 3), 1 / 3) - np.eye(3)[[0, 2]])
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), wanted, rtol=1e-5)


def test_no_inputs_and_several_outputs() -> None:
    anchors, sizes = mx.nd.Custom(op_type="cls_anchors", size=4)
    np.testing.assert_array_equal(anchors.asnumpy(), [0, 1, 2, 3])
    assert (sizes.dtype, sizes.asnumpy().tolist()) == (np.int32, [4, 4])


def test_auxiliary_states() -> None:
    executor = mx.sym.Custom(mx.sym.var("x"), op_type="cls_count", name="c").simple_bind(mx.cpu(), x=(3,))
    for _ in range(3):
        executor.forward(is_train=True, x=mx.nd.array(X))
    executor.backward(mx.nd.ones(3))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), X + 3)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), [3, 3, 3])
    assert executor.aux_dict["c_calls"].asnumpy() == [3]


def test_a_gradient_that_is_not_assigned_is_zero() -> None:
    a, b = mx.nd.array(X), mx.nd.array(X + 1)
    a.attach_grad()
    b.attach_grad()
    b.grad[:] = 5
    with mx.autograd.record():
        y = mx.nd.Custom(a, b, op_type="cls_forgetful")
    y.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), X + 1)
    np.testing.assert_array_equal(b.grad.asnumpy(), [0, 0, 0])


FAILURES = {
    "constructor": r"SigmoidProp\(fails='constructor'\) raised ValueError: not made",
    "infer_shape": r"classes\.py:\d+: SigmoidProp\.infer_shape raised IndexError: list index out of range",
    "few shapes": r"SigmoidProp\.infer_shape returned .*not lists of 1 shapes for arguments and 1 for outputs",
    "text for a shape": r"SigmoidProp\.infer_shape returned .*'three'",
    "another input": r"SigmoidProp\.infer_shape wants \(7, 7\) as the shape of 'data', which is \(3,\)",
    "infer_type": r"classes\.py:\d+: SigmoidProp\.infer_type raised TypeError: not of this type",
    "text for a type": r"SigmoidProp\.infer_type returned .*vermilion",
    "dependency": r"SigmoidProp\.declare_backward_dependency returned \[99\]",
    "create_operator": r"classes\.py:\d+: SigmoidProp\.create_operator raised RuntimeError: cannot create",
    "nothing created": r"SigmoidProp\.create_operator returned None, which has no method forward",
    "smaller output": r"classes\.py:\d+: Sigmoid\.forward raised",
    "forward": r"classes\.py:\d+: Sigmoid\.forward raised ValueError: no such luck",
    "unassigned": r"classes\.py:\d+: Sigmoid\.forward assigned nothing to out_data\[0\] \('output'\)",
    "backward": r"classes\.py:\d+: Sigmoid\.backward raised ValueError: no way back",
}


@pytest.mark.parametrize("fails", FAILURES)
def test_failures_name_op_place_and_text(fails: str) -> None:
    with pytest.raises(mx.MXNetError, match=r"op 'cls_sigmoid': .*" + FAILURES[fails]):
        run(fails=fails)
    with contextlib.suppress(mx.MXNetError):  # on threads the gradient may have begun, and fails by itself
        mx.nd.waitall()


@pytest.mark.parametrize("fails", ["forward", "unassigned"])
def test_no_stale_number_is_read_after_a_failure(fails: str) -> None:
    for _ in range(20):
        y = mx.nd.ones(3)
        read = start(mx.nd.array(X), fails=fails, out=y)
        with pytest.raises(mx.MXNetError):
            read()
        with contextlib.suppress(mx.MXNetError):  # inside the engine, what has failed stays so
            assert np.isnan(y.asnumpy()).all()


def test_a_failure_hits_nobody_else() -> None:
    x = mx.nd.array(X)
    for _ in range(20):
        calls = [start(x, fails="forward" if i % 3 == 0 else "") for i in range(12)]
        for i, read in enumerate(calls):
            if i % 3 == 0:
                with pytest.raises(mx.MXNetError, match="no such luck"):
                    read()
            else:
                np.testing.assert_allclose(read(), Y, rtol=1e-6)


def test_attributes() -> None:
    x = mx.nd.array(X)
    with pytest.raises(mx.MXNetError, match=r"cls_sigmoid.*SigmoidProp.*classes\.py.*no attribute 'fials'.*'fails'"):
        mx.nd.Custom(x, op_type="cls_sigmoid", fials="forward")
    with pytest.raises(
        mx.MXNetError, match=r"'cls_anchors' .*AnchorsProp.* needs the attribute 'size': give size=VALUE"
    ):
        mx.nd.Custom(op_type="cls_anchors")
    with pytest.raises(mx.MXNetError, match=r"AnchorsProp\(size='many'\) raised ValueError: invalid literal"):
        mx.nd.Custom(op_type="cls_anchors", size="many")
    with mx.AttrScope(__group__="a"):
        symbol = mx.sym.Custom(mx.sym.var("x"), op_type="cls_sigmoid")
    assert symbol.infer_shape(x=(3,))[1] == [(3,)]


def test_wrong_inputs() -> None:
    x = mx.nd.array(X)
    with pytest.raises(mx.MXNetError, match="Custom expects 1 inputs, but got 2"):
        mx.nd.Custom(x, x, op_type="cls_sigmoid")
    with pytest.raises(mx.MXNetError, match=r"op 'cls_sigmoid': .*infer_storage_type raised .*row_sparse"):
        mx.nd.Custom(mx.nd.ones((2, 2)).tostype("row_sparse"), op_type="cls_sigmoid")
    with pytest.raises(mx.MXNetError, match=r"op 'cls_loss': .*SoftmaxLossProp.infer_shape raised IndexError"):
        mx.sym.Custom(mx.sym.var("a"), mx.sym.var("b"), op_type="cls_loss").infer_shape(b=(2,))


def test_what_is_not_declared_is_not_there() -> None:
    a = mx.nd.array(X)
    a.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(a, a, op_type="cls_forgetful", declares="no")
    with pytest.raises(mx.MXNetError, match=r"Forgetful\.backward raised .*leaves out .*in_data\[1\]"):
        y.backward()
        a.grad.wait_to_read()


def test_a_name_may_be_registered_again() -> None:
    class Times(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * self.factor)

    class Twice(mx.operator.CustomOpProp):
        factor = 2

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            made = Times()
            made.factor = self.factor
            return made

    class Thrice(Twice):
        factor = 3

    ours, mxnets = pykernels.register("cls_again"), mx.operator.register("cls_again")
    for register, cls in ((ours, Twice), (ours, Thrice), (mxnets, Twice), (ours, Thrice), (mxnets, Twice)):
        assert register(cls) is cls
        np.testing.assert_allclose(mx.nd.Custom(mx.nd.array(X), op_type="cls_again").asnumpy(), X * cls.factor)


def test_what_can_be_registered() -> None:
    with pytest.raises(pykernels.DefinitionError, match=r"test_register\.py:\d+: 'wrong' .*not a subclass"):

        @pykernels.register("wrong")
        class Wrong:
            pass

    with pytest.raises(pykernels.DefinitionError, match="not a subclass of mx.operator.CustomOpProp"):
        pykernels.register("wrong")(classes.Sigmoid("").forward)


def test_nothing_is_kept_of_calls_that_are_over() -> None:
    for _ in range(200):
        run()
    mx.nd.waitall()
    gc.collect()
    run()
    mx.nd.waitall()
    mx.nd.Custom(mx.nd.array(X), op_type="cls_sigmoid").wait_to_read()
    assert len(mxnet_classes._live) < 20


def test_beside_convolutions() -> None:
    """MXNet alone gets these wrong nearly always: it frees the copies that an operator reads too early."""
    convolutions = [mx.gluon.nn.Conv2D(16, 3, padding=1, in_channels=16) for _ in range(2)]
    for convolution in convolutions:
        convolution.initialize(mx.init.Xavier())

    def both(between: Any) -> list[np.ndarray]:
        x = data.copy()
        x.attach_grad()
        with mx.autograd.record():
            y = convolutions[1](between(convolutions[0](between(x))))
        y.backward()
        for _ in range(8):
            mx.nd.random.uniform(shape=y.shape)
        return [y.asnumpy(), x.grad.asnumpy(), convolutions[0].weight.grad().asnumpy()]

    data = mx.nd.random.normal(shape=(2, 16, 12, 12))
    wanted = both(mx.nd.sigmoid)
    for _ in range(40):
        got = both(lambda x: mx.nd.Custom(x, op_type="cls_sigmoid"))
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
