"""The functions that jobs of old are made of, against plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oneflow as flow
import pytest
import scipy.special

import pykernels
import pykernels.vendors.oneflow_legacy
from pykernels.vendors.oneflow_legacy import typing as tp

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (2, 3)).astype(np.float32)
Y = RNG.uniform(0.1, 0.9, (2, 3)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 3, 7, 6)).astype(np.float32)
FILTERS = RNG.normal(size=(4, 3, 3, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    flow.clear_default_session()
    yield
    flow.clear_default_session()


def run(body: Callable[..., Any], *arrays: np.ndarray, type: str = "predict") -> Any:
    """What a job computes of arrays: an array, or several as `body` arranges them."""
    names = [f"x{i}" for i in range(len(arrays))]
    scope: dict[str, Any] = {"body": body}
    exec(f"def job({', '.join(names)}): return body({', '.join(names)})", scope)
    dtypes = {"f": flow.float32, "i": flow.int32}
    scope["job"].__annotations__ = {
        **{name: tp.Numpy.Placeholder(a.shape, dtype=dtypes[a.dtype.kind]) for name, a in zip(names, arrays)},
        "return": tp.Bundle[tp.Numpy],
    }
    return flow.global_function(type)(scope["job"])(*arrays)


def close(found: np.ndarray, expected: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(expected, np.float64), rtol=1e-5, atol=1e-5)


def softmax(x: np.ndarray) -> np.ndarray:
    return scipy.special.softmax(x, axis=-1)


# ---- flow.math

UNARY = {
    **{
        name: getattr(np, name)
        for name in ("abs", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log1p", "negative", "reciprocal")
    },
    **{name: getattr(np, name) for name in ("sign", "sin", "sinh", "sqrt", "square", "tan", "tanh")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("acos", "asin", "asinh", "atan", "atanh")},
    "acosh": lambda x: np.full(x.shape, np.nan),
    "argmax": lambda x: x.argmax(-1),
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "gelu": lambda x: x * (1 + scipy.special.erf(x / np.sqrt(2))) / 2,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": scipy.special.expit,
    "sigmoid_v2": scipy.special.expit,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "tanh_v2": np.tanh,
}
BINARY = {
    **{
        name: getattr(np, name) for name in ("add", "equal", "greater", "greater_equal", "less", "less_equal", "divide")
    },
    **{name: getattr(np, name) for name in ("logical_and", "maximum", "minimum", "multiply", "not_equal", "subtract")},
    "atan2": np.arctan2,
    "pow": np.power,
    "sigmoid_grad": lambda y, dy: y * (1 - y) * dy,
    "squared_difference": lambda x, y: (x - y) ** 2,
}
REDUCTIONS = {
    "reduce_all": np.all,
    "reduce_any": np.any,
    "reduce_max": np.max,
    "reduce_mean": np.mean,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_std": np.std,
    "reduce_sum": np.sum,
    "reduce_variance": np.var,
}


def test_every_function_of_flow_math_is_tried() -> None:
    with pytest.raises(AttributeError) as raised:
        print(flow.math.nothing)
    provided = str(raised.value).removesuffix(" [PK100]").partition(": flow.math has ")[2].split(", ")
    assert provided == sorted({*UNARY, *BINARY, *REDUCTIONS, "add_n"})


def test_functions_of_one_tensor() -> None:
    found = run(lambda x: {name: getattr(flow.math, name)(x, name="named") for name in UNARY}, X)
    for name, expected in UNARY.items():
        close(found[name], expected(X))


def test_functions_of_two_tensors() -> None:
    found = run(lambda x, y: {name: getattr(flow.math, name)(x, y, "named") for name in BINARY}, X, Y)
    for name, expected in BINARY.items():
        close(found[name], expected(X, Y))
    close(run(lambda x, y: flow.math.add_n([x, y, x], name="named"), X, Y), 2 * X + Y)


@pytest.mark.thorough
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 1], (1,)], ids=str)
def test_reductions(axis: Any) -> None:
    found = run(
        lambda x: {
            (name, keepdims): getattr(flow.math, name)(x, axis=axis, keepdims=keepdims, name="named")
            for name in REDUCTIONS
            for keepdims in (False, True)
        },
        X,
    )
    numpy_axis = tuple(axis) if isinstance(axis, list) else axis
    for (name, keepdims), array in found.items():
        close(array, REDUCTIONS[name](X, axis=numpy_axis, keepdims=keepdims))


# ---- flow.nn


@pytest.mark.thorough
def test_activations() -> None:
    x = X - 0.5
    close(run(lambda x: flow.nn.relu(x, name="named"), x), np.maximum(x, 0))
    close(run(lambda x: flow.nn.leaky_relu(x, name="named"), x), np.where(x > 0, x, 0.2 * x))
    close(run(lambda x: flow.nn.elu(x, 0.5), x), np.where(x > 0, x, 0.5 * np.expm1(x)))
    close(run(lambda x: flow.nn.softmax(x), x), softmax(x))
    close(run(lambda x: flow.nn.softmax(x, axis=0), x), softmax(x.T).T)
    close(run(lambda x: flow.nn.logsoftmax(x), x), np.log(softmax(x)))


def test_cross_entropies() -> None:
    labels = np.array([2, 0], np.int32)
    expected = -np.log(softmax(X))[[0, 1], labels]
    sparse = flow.nn.sparse_softmax_cross_entropy_with_logits
    close(run(lambda labels, x: sparse(labels, x, name="named"), labels, X), expected)
    close(run(lambda labels, x: sparse(labels, x), labels[:, None], X), expected)
    dense = flow.nn.softmax_cross_entropy_with_logits
    close(run(lambda labels, x: dense(labels, x), np.eye(3, dtype=np.float32)[labels], X), expected)


def test_bias_add_follows_the_format() -> None:
    bias = np.arange(3, dtype=np.float32)
    close(run(lambda x, b: flow.nn.bias_add(x, b), IMAGE, bias), IMAGE + bias[:, None, None])
    close(run(lambda x, b: flow.nn.bias_add(x, b, "NHWC"), X[None, None], bias), X[None, None] + bias)


def windows(size: int, width: int, stride: int, padding: Any, axis: int, dilation: int = 1) -> tuple[int, int]:
    """How much is padded before and after an axis, as TensorFlow states it for "SAME"."""
    if padding == "VALID":
        return 0, 0
    if not isinstance(padding, str):
        return padding[axis]
    total = max(0, (int(np.ceil(size / stride)) - 1) * stride + (width - 1) * dilation + 1 - size)
    return (total // 2, total - total // 2) if padding == "SAME_UPPER" else (total - total // 2, total // 2)


PADDINGS = ["VALID", "SAME", "SAME_LOWER", "SAME_UPPER", [(0, 0), (0, 0), (2, 0), (1, 1)]]


@pytest.mark.thorough
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_convolution(padding: Any, stride: int, dilation: int) -> None:
    pads = [windows(IMAGE.shape[a], FILTERS.shape[a], stride, padding, a, dilation) for a in (2, 3)]
    x = np.pad(IMAGE.astype(float), [(0, 0), (0, 0), *pads])
    height, width = (np.array(FILTERS.shape[2:]) - 1) * dilation + 1
    views = np.lib.stride_tricks.sliding_window_view(x, (height, width), (2, 3))[:, :, ::stride, ::stride]
    expected = np.einsum("nchwij,fcij->nfhw", views[..., ::dilation, ::dilation], FILTERS)
    close(
        run(lambda x, w: flow.nn.conv2d(x, w, stride, padding, dilations=dilation, name="n"), IMAGE, FILTERS), expected
    )


@pytest.mark.thorough
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_max_pooling(padding: Any, stride: int) -> None:
    pads = [windows(IMAGE.shape[a], 3, stride, padding, a) for a in (2, 3)]
    x = np.pad(IMAGE, [(0, 0), (0, 0), *pads], constant_values=-np.inf)
    expected = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::stride, ::stride].max((-1, -2))
    close(run(lambda x: flow.nn.max_pool2d(x, 3, stride, padding, name="named"), IMAGE), expected)


@pytest.mark.thorough
@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_average_pooling(padding: Any, stride: int) -> None:
    pads = [windows(IMAGE.shape[a], 3, stride, padding, a) for a in (2, 3)]
    x = np.pad(IMAGE, [(0, 0), (0, 0), *pads], constant_values=np.nan)
    views = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    expected = np.nanmean(views, (-1, -2))
    close(run(lambda x: flow.nn.avg_pool2d(x, 3, stride, padding, name="named"), IMAGE), expected)


def test_the_last_window_of_average_pooling_may_be_cut() -> None:
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
    for ceil_mode, expected in ((False, [0.5, 2.5]), (True, [0.5, 2.5, 4])):
        found = run(lambda x, c=ceil_mode: flow.nn.avg_pool2d(x, (1, 2), (1, 2), "VALID", "NCHW", c), x)
        close(found, [[[expected]]])


def test_dropout_is_for_training() -> None:
    ones = np.ones((100, 10), np.float32)
    np.testing.assert_array_equal(run(lambda x: flow.nn.dropout(x, 0.2), ones), ones)

    @flow.global_function("train")
    def train(x: tp.Numpy.Placeholder((100, 10))) -> tp.Numpy:
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(w)
        return flow.nn.dropout(x, rate=0.2, name="named")

    dropped, again = train(ones), train(ones)
    assert set(np.unique(dropped)) == {0, np.float32(1.25)}
    assert 0.1 < (dropped == 0).mean() < 0.3
    assert (dropped != again).any()


# ---- flow.layers


def test_dense() -> None:
    x = RNG.normal(size=(2, 4, 3)).astype(np.float32)
    normal = flow.random_normal_initializer()
    result = run(
        lambda x: flow.layers.dense(
            x, 5, activation=flow.nn.relu, kernel_initializer=normal, bias_initializer=normal, name="layer"
        ),
        x,
    )
    weight, bias = (flow.get_all_variables()[name].numpy() for name in ("layer-weight", "layer-bias"))
    assert (weight.shape, bias.shape, result.shape) == ((5, 3), (5,), (2, 4, 5))
    close(result, np.maximum(x @ weight.T + bias, 0))
    assert not run(lambda x: flow.layers.dense(x, 5, use_bias=False), x).any()
    assert sorted(flow.get_all_variables()) == ["Dense-weight", "layer-bias", "layer-weight"]


def test_a_convolution_with_variables() -> None:
    ones = flow.ones_initializer()

    def body(x: Any, w: Any) -> Any:
        found = flow.layers.conv2d(x, 4, [3, 2], padding="SAME", bias_initializer=ones, weight_name="w", name="layer")
        weight = flow.get_variable("w", FILTERS.shape)
        return found - flow.nn.conv2d(x, weight, 1, "SAME") - 1

    close(run(body, IMAGE, FILTERS), 0)
    variables = flow.get_all_variables()
    assert sorted(variables) == ["layer-bias", "w"]
    assert variables["w"].numpy().std() > 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_normalization(axis: int) -> None:
    shape = IMAGE.shape
    channels = [1] * 4
    channels[axis] = shape[axis]
    others = tuple(a for a in range(4) if a != axis % 4)
    mean, variance = (f(IMAGE.astype(float), others).reshape(channels) for f in (np.mean, np.var))

    def layer(x: Any) -> Any:
        return flow.layers.batch_normalization(
            x, axis, 0.75, 0.5, beta_initializer=flow.constant_initializer(3.0), name="norm"
        )

    @flow.global_function("train")
    def train(x: tp.Numpy.Placeholder(IMAGE.shape)) -> tp.Numpy:
        y = layer(x)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.0]), momentum=0).minimize(y)
        return y

    close(run(layer, IMAGE), IMAGE / np.sqrt(1.5) + 3)
    close(train(IMAGE), (IMAGE - mean) / np.sqrt(variance + 0.5) + 3)
    kept = {name: variable.numpy() for name, variable in flow.get_all_variables().items()}
    assert sorted(kept) == ["norm-beta", "norm-gamma", "norm-moving_mean", "norm-moving_variance"]
    close(kept["norm-moving_mean"].reshape(channels), mean / 4)
    n = IMAGE.size / shape[axis]
    close(kept["norm-moving_variance"].reshape(channels), 0.75 + variance * n / (n - 1) / 4)
    moved = IMAGE - kept["norm-moving_mean"].reshape(channels)
    close(run(layer, IMAGE), moved / np.sqrt(kept["norm-moving_variance"].reshape(channels) + 0.5) + 3)


def test_batch_normalization_without_variables_to_learn() -> None:
    def layer(x: Any) -> Any:
        return flow.layers.batch_normalization(x, 1, center=False, scale=False)

    close(run(layer, IMAGE), IMAGE / np.sqrt(1.001))
    assert sorted(flow.get_all_variables()) == ["BatchNorm-moving_mean", "BatchNorm-moving_variance"]


# ---- mistakes


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            lambda x: flow.nn.max_pool2d(x, 2, 2, "same?"),
            "padding must be 'SAME', 'SAME_LOWER', 'SAME_UPPER' or 'VALID'",
        ),
        (
            lambda x: flow.nn.max_pool2d(x, 2, 2, [1, 1]),
            r"padding must have a pair for each of four axes, \(0, 0\) for",
        ),
        (lambda x: flow.nn.max_pool2d(x, 2, 2, "SAME", "NHWC"), "flow.nn.max_pool2d: data_format must be 'NCHW', not"),
        (lambda x: flow.nn.avg_pool2d(x, 2, 2, "SAME", "NHWC"), "flow.nn.avg_pool2d: data_format must be 'NCHW', not"),
        (lambda x: flow.layers.batch_normalization(x, 4), "batch_normalization: axis 4 is none of the input's 4 axes"),
        (lambda x: flow.layers.batch_normalization(x[0, 0, 0], 0), "its input must have two axes or more"),
        (lambda x: flow.nn.conv2d(x, x, 2, "SAME", "NHWC"), "flow.nn.conv2d: data_format must be 'NCHW', not 'NHWC'"),
        (lambda x: flow.nn.dropout(x, 1), "flow.nn.dropout: rate must be at least 0 and less than 1, not 1"),
        (lambda x: flow.nn.dropout(x, 0.5, x), "flow.nn.dropout: noise_shape is not supported"),
    ],
)
def test_wrong_arguments_are_named(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pykernels.CallError, match=message):
        run(body, IMAGE)


def test_the_name_of_a_layer_stands_for_one_layer() -> None:
    with pytest.raises(pykernels.CallError, match="the job has a variable 'Dense-weight' already"):
        run(lambda x: flow.layers.dense(flow.layers.dense(x, 5), 5), X)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_quotients_of_whole_numbers_are_whole(dtype: type) -> None:
    x, y = np.array([7, -7, 8, 0, -8], dtype), np.array([2, 2, -3, 5, -8], dtype)
    found = flow.math.divide(flow.tensor(x), flow.tensor(y)).numpy()
    assert found.dtype == dtype
    assert found.tolist() == [3, -3, -2, 0, 1]


def test_quotients_of_whole_numbers_in_a_job() -> None:
    @flow.global_function()
    def job(
        x: tp.Numpy.Placeholder((3,), dtype=flow.int32), y: tp.Numpy.Placeholder((3,), dtype=flow.int32)
    ) -> tp.Numpy:
        return flow.math.divide(x, y)

    assert job(np.array([7, -7, 8], np.int32), np.array([2, 2, -3], np.int32)).tolist() == [3, -3, -2]
