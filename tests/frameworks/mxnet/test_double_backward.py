"""Gradients of gradients, recorded with ``create_graph=True``."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from cases import CASES, Case, outputs
from folders import SQUARES, SQUARES_PROP, write_exponential, write_op

import pykernels
from pykernels.base import paths

if mx.__version__ != "1.9.1":
    pytest.skip("the engine is entered for mxnet 1.9.1 only", allow_module_level=True)

#: ``scale * x * x * x`` for each of many.
CUBES_DEFINITION = """
    #include "oneflow/core/framework/framework.h"

    REGISTER_USER_OP("cubes_forward")
        .InputWithMinimum("xs", "floating[n]", 1)
        .OutputWithMinimum("ys", "floating[n]", 1)
        .Attr<float>("scale")
        .Backward("xs, dys -> dxs")
        .Backward("xs, dys, gdxs -> gxs, gdys");
"""
CUBES = """
    def forward(args, outs, *, scale):
        for x, y in zip(args[0], outs[0]):
            y[...] = scale * x * x * x


    def backward(args, outs, *, scale):
        xs, dys = args
        for x, dy, dx in zip(xs, dys, outs[0]):
            dx[...] = 3 * scale * dy * x * x


    def backward_backward(args, outs, *, scale):
        xs, dys, gdxs = args
        gxs, gdys = outs
        for x, dy, gdx, gx, gdy in zip(xs, dys, gdxs, gxs, gdys):
            gx[...] = 6 * scale * dy * gdx * x
            gdy[...] = 3 * scale * gdx * x * x
"""
#: ``x * x + level``; in training, every call adds 1 to the level afterwards.
RISING_PROP = """
    import pykernels


    class Rising(pykernels.CustomOpProp):
        arguments = ["x"]
        outputs = ["y"]
        auxiliary_states = ["level"]
        backward = "x, dy -> dx"
        backward_backward = "x, dy, gdx -> gx, gdy"

        def infer_shape(self, in_shape):
            return in_shape, in_shape, in_shape
"""
RISING = """
    def forward(args, *, is_train):
        x, level = args
        y = x * x + level
        if is_train:
            level[...] = level + 1
        return y


    def backward(args):
        x, dy = args
        return 2 * x * dy


    def backward_backward(args):
        x, dy, gdx = args
        return 2 * dy * gdx, 2 * x * gdx
"""
#: Its backward op has no gradient.
ONCE = "def forward(args):\n    return args[0] ** 2\n\ndef backward(args):\n    return args[0] * 2 * args[1]\n"
ONCE_PROP = """
    import pykernels


    class Once(pykernels.CustomOpProp):
        backward = "doutput, data -> ddata"
"""
#: Its second derivative raises an error.
BROKEN = """
    def forward(args):
        return args[0] * args[0]


    def backward(args):
        return 2 * args[0] * args[1]


    def backward_backward(args):
        raise ValueError("not today")
"""
BROKEN_PROP = """
    import pykernels


    class Broken(pykernels.CustomOpProp):
        backward = "doutput, data -> ddata"
        backward_backward = "doutput, data, gddata -> gdoutput, gdata"
"""
MADE = ("broken", "exponential", "squares", "cubes", "rising", "once")


@pytest.fixture(scope="module", autouse=True)
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("ops")
    write_exponential(folder)
    write_op(folder, "squares", SQUARES, SQUARES_PROP)
    write_op(folder, "rising", RISING, RISING_PROP)
    write_op(folder, "once", ONCE, ONCE_PROP)
    write_op(folder, "broken", BROKEN, BROKEN_PROP)
    (folder / "cubes").mkdir()
    for name, text in (("cpp_def.cpp", CUBES_DEFINITION), ("py_kernel.py", CUBES), ("py_api.py", "")):
        (folder / "cubes" / f"cubes_{name}").write_text(textwrap.dedent(text))
    pykernels.load_ops(paths.OPS)
    pykernels.load_ops(folder)
    yield
    pykernels.unload_ops(*MADE)


def custom(op: str, **attributes: Any) -> Callable[..., Any]:
    return lambda *inputs: mx.nd.Custom(*inputs, op_type=op, **attributes)


def variable(values: Any, grad_req: str = "write") -> Any:
    array = mx.nd.array(values, dtype="float64")
    array.attach_grad(grad_req)
    return array


def penalty(function: Callable[..., Any], inputs: Sequence[Any], wanted: Sequence[Any], seeds: Sequence[Any]) -> Any:
    """Return a number that depends on gradients of the results of `function`; `seeds` are those of their sigmoids.

    MXNet records nothing of the seeds, but the gradients of the results themselves.
    """
    results = list(map(mx.nd.sigmoid, outputs(function(*inputs))))
    gradients = mx.autograd.grad(results, list(wanted), head_grads=list(seeds), create_graph=True, retain_graph=True)
    weights = [mx.nd.arange(1, each.size + 1, dtype=each.dtype).reshape(each.shape) for each in gradients]
    # MXNet refuses a loss that depends on no variable, as the gradient of a linear op.
    plain = sum(each.sum() for each in wanted)
    return sum((weight * each * each).sum() for weight, each in zip(weights, gradients)) + plain


@pytest.mark.parametrize("op", ["sigmoid", "tanh"])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_like_an_op_of_mxnet(op: str, grad_req: str) -> None:
    found = []
    for function in (custom(op), getattr(mx.nd, op)):
        x, seed = variable([[0.5, -1.0], [2.0, 0.1]], grad_req), variable([[1.0, 2.0], [-3.0, 0.5]], grad_req)
        for _ in range(2):
            with mx.autograd.record():
                hidden = function(x)
                loss = penalty(function, [hidden], [x], [seed])
            loss.backward()
        found.append([each.grad.asnumpy() for each in (x, seed)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


def _has_second_order(op: str) -> bool:
    ops = pykernels.list_ops()[op].definition.ops
    return f"{op}_backward" in ops and ops[f"{op}_backward"].gradient is not None


SECOND = [case for case in CASES if case.variables and "float64" in case.dtypes]


@pytest.mark.parametrize("case", SECOND, ids=str)
def test_finite_differences(case: Case) -> None:
    assert _has_second_order(case.op)
    rng = np.random.default_rng(1)
    function = custom(case.op, **case.attributes)
    arrays = case.inputs("float64")
    results = outputs(function(*(mx.nd.array(each, dtype=each.dtype) for each in arrays)))
    seeds = [variable(rng.normal(size=each.shape)) for each in results]

    def run() -> tuple[list[Any], float]:
        inputs = [mx.nd.array(each, dtype=each.dtype) for each in arrays]
        wanted = [inputs[at] for at in case.variables]
        for each in wanted:
            each.attach_grad()
        with mx.autograd.record():
            loss = penalty(function, inputs, wanted, seeds)
        loss.backward()
        return [each.grad.asnumpy() for each in wanted], loss.asscalar()

    found, _ = run()
    for at, gradient in zip(case.variables, found):
        array = arrays[at]
        direction = rng.normal(size=array.shape)
        ends = []
        for step in (1e-6, -1e-6):
            arrays[at] = array + step * direction
            ends.append(run()[1])
        arrays[at] = array
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6, atol=1e-7)


def test_two_inputs_and_an_attribute() -> None:
    x, w = variable(np.arange(6.0).reshape(2, 3)), variable([-1.0, 0.0, 0.5])
    with mx.autograd.record():
        y = custom("squares", scale=1.5)(x, w)
        dx, dw = mx.autograd.grad(y, [x, w], create_graph=True)
        loss = (dx * dx).sum() + dw.sum()
    loss.backward()
    values, weights = x.asnumpy(), w.asnumpy()
    np.testing.assert_allclose(x.grad.asnumpy(), 18 * weights**2 * values + 3 * values, rtol=1e-12)
    np.testing.assert_allclose(w.grad.asnumpy(), (18 * weights * values**2).sum(axis=0), rtol=1e-12)


def test_of_one_of_the_inputs() -> None:
    """What the first gradient does not compute is not read by the second."""
    rng = np.random.default_rng(2)
    x, gamma, beta = variable(rng.normal(size=(2, 4))), variable(rng.normal(size=4)), variable(rng.normal(size=4))
    found = []
    for wanted in ([gamma], [x, gamma]):
        with mx.autograd.record():
            y = custom("layer_norm")(x, gamma, beta)
            loss = (mx.autograd.grad(mx.nd.sigmoid(y), wanted, create_graph=True)[-1] ** 2).sum()
        loss.backward()
        found.append([each.grad.asnumpy() for each in (x, gamma, beta)])
    for one, both in zip(*found):
        np.testing.assert_array_equal(one, both)
    assert all(np.isfinite(each).all() and each.any() for each in found[0])


def test_lists() -> None:
    xs = [variable([0.5, -1.0]), variable([2.0, 3.0]), variable([1.5, 0.0])]
    with mx.autograd.record():
        ys = custom("cubes", scale=2, num_args=3, num_outputs=3)(*xs)
        gradients = mx.autograd.grad([mx.nd.sigmoid(y) for y in ys[:2]], xs[:2], create_graph=True)
        loss = (gradients[0] ** 2).sum() + gradients[1].sum()
    loss.backward()

    def derivatives(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = 1 / (1 + np.exp(-2 * x**3))
        slope = s * (1 - s)
        return slope * 6 * x**2, slope * (1 - 2 * s) * (6 * x**2) ** 2 + slope * 12 * x

    first, second, _ = (derivatives(x.asnumpy()) for x in xs)
    np.testing.assert_allclose(xs[0].grad.asnumpy(), 2 * first[0] * first[1], rtol=1e-12)
    np.testing.assert_allclose(xs[1].grad.asnumpy(), second[1], rtol=1e-9)
    np.testing.assert_array_equal(xs[2].grad.asnumpy(), [0, 0])


def test_states() -> None:
    x, level = variable([0.5, -1.0]), mx.nd.array([3.0, 4.0], dtype="float64")
    with mx.autograd.record():
        y = custom("rising")(x, level)
        (dx,) = mx.autograd.grad(y, [x], create_graph=True)
        loss = (dx**2).sum()
    loss.backward()
    np.testing.assert_array_equal(level.asnumpy(), [4, 5])
    np.testing.assert_array_equal(x.grad.asnumpy(), 8 * x.asnumpy())


@pytest.mark.parametrize("is_nested", [False, True])
def test_derivatives_of_every_order(is_nested: bool) -> None:
    x = variable([-1.0, 0.0, 0.5])
    exp = custom("exponential")
    found = []
    with mx.autograd.record():
        y = exp(exp(x)) if is_nested else exp(x)
        for _ in range(4):
            found.append(y)
            (y,) = mx.autograd.grad(y, [x], create_graph=True)
    y.backward()
    found += [y, x.grad]
    e = np.exp(x.asnumpy())
    expected = [e] * 6
    if is_nested:
        polynomials = [[1], [0, 1], [0, 1, 1], [0, 1, 3, 1], [0, 1, 7, 6, 1], [0, 1, 15, 25, 10, 1]]
        expected = [np.exp(e) * np.polynomial.polynomial.polyval(e, each) for each in polynomials]
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(each.asnumpy(), wanted, rtol=1e-12)


def test_numpy_arrays() -> None:
    mx.npx.set_np()
    try:
        for values in ([0.5, -1.0], 0.5):
            x = mx.np.array(values, dtype="float64")
            x.attach_grad()
            with mx.autograd.record():
                y = pykernels.list_ops()["sigmoid"].api.sigmoid(x)
                (dx,) = mx.autograd.grad(y, [x], create_graph=True)
            dx.backward()
            s = 1 / (1 + np.exp(-np.array(values)))
            np.testing.assert_allclose(x.grad.asnumpy(), s * (1 - s) * (1 - 2 * s), rtol=1e-12)
    finally:
        mx.npx.reset_np()


class Layer(mx.gluon.HybridBlock):
    def __init__(self, op: str | None) -> None:
        super().__init__()
        self._op = op
        self.weight = self.params.get("weight", shape=(2, 3), init=mx.init.Uniform(1))

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        hidden = F.FullyConnected(x, weight, num_hidden=2, no_bias=True)
        return F.Custom(hidden, op_type=self._op) if self._op else F.sigmoid(hidden)


@pytest.mark.parametrize("mode", [None, {}, {"static_alloc": True}], ids=str)
def test_blocks(mode: dict[str, bool] | None) -> None:
    """Both ops do the same: MXNet records the gradient of a hybridized block only if it inlines the block."""
    found = []
    for op in ("sigmoid", None):
        mx.random.seed(1)
        layer = Layer(op)
        layer.initialize()
        if mode is not None:
            layer.hybridize(**mode)
        x = mx.nd.array([[0.5, -1.0, 2.0]])
        x.attach_grad()
        with mx.autograd.record():
            y = layer(x)
            if mode:
                with pytest.raises(mx.MXNetError, match="please do not use hybridize"):
                    mx.autograd.grad(y, [x], create_graph=True)
                continue
            (dx,) = mx.autograd.grad(y, [x], create_graph=True)
            loss = ((dx**2).sum() - 1) ** 2
        loss.backward()
        found.append([x.grad.asnumpy(), layer.weight.grad().asnumpy()])
    if found:
        for ours, theirs in zip(*found):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_threads() -> None:
    found: dict[int, float] = {}

    def work(number: int) -> None:
        x = variable([number / 8])
        for _ in range(50):
            with mx.autograd.record():
                (dx,) = mx.autograd.grad(custom("sigmoid")(x), [x], create_graph=True)
            dx.backward()
        found[number] = x.grad.asscalar()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number in range(6):
        s = 1 / (1 + np.exp(-number / 8))
        assert found[number] == pytest.approx(s * (1 - s) * (1 - 2 * s), rel=1e-12)


def test_a_backward_op_without_gradient_says_how_to_get_one() -> None:
    x = variable([0.5, -1.0])
    with mx.autograd.record():
        (dx,) = mx.autograd.grad(custom("once")(x), [x], create_graph=True)
        loss = (dx**2).sum()
        other = mx.nd.BlockGrad(dx).sum() + (x * 3).sum()
    np.testing.assert_array_equal(dx.asnumpy(), [1, -2])
    other.backward(retain_graph=True)  # which does not need it
    np.testing.assert_array_equal(x.grad.asnumpy(), [3, 3])
    loss.backward()
    message = (
        r"the gradient of op 'once': op 'once_backward' has no gradient: its definition registers none for "
        r"'once_backward'; where it can be derived, `python -m pykernels derive --second \S+/once` writes it \[PK200\]"
    )
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=message):
            x.grad.asnumpy()


def test_a_kernel_that_fails() -> None:
    x = variable([0.5, -1.0])
    with mx.autograd.record():
        (dx,) = mx.autograd.grad(custom("broken")(x), [x], create_graph=True)
    np.testing.assert_array_equal(dx.asnumpy(), [1, -2])
    dx.backward()
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=r"broken_py_kernel.py:\d+: .*ValueError: not today"):
            x.grad.asnumpy()


def test_an_op_without_gradient() -> None:
    boxes, scores = variable([[0, 0, 1, 1.0]]), variable([0.5])
    with mx.autograd.record():
        kept = outputs(custom("nms")(boxes, scores))[0].astype("float64")
        (dx,) = mx.autograd.grad(kept, [boxes], create_graph=True)
        loss = (dx**2).sum() + (boxes * 3).sum()
    loss.backward()
    np.testing.assert_array_equal(boxes.grad.asnumpy(), np.full((1, 4), 3))


class SquareProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Square()


class Square(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] ** 2)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@pytest.mark.parametrize("by", ["mxnet", "pykernels"])
def test_classes_have_none(by: str) -> None:
    name = f"double_backward_square_of_{by}"
    mx.operator.register(name)(SquareProp) if by == "mxnet" else pykernels.register(name)(SquareProp)
    x = variable([0.5, -1.0])
    with mx.autograd.record():
        (dx,) = mx.autograd.grad(custom(name)(x), [x], create_graph=True)
        loss = (dx**2).sum()
        other = mx.nd.BlockGrad(dx).sum() + (x * 3).sum()
    np.testing.assert_array_equal(dx.asnumpy(), [1, -2])
    with pytest.raises(mx.MXNetError, match=rf"the gradient of operator '{name}' has no gradient: nobody knows"):
        loss.backward(retain_graph=True)
    other.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [3, 3])
