"""Jobs that train: step by step what plain NumPy gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import process
import pytest

import pykernels
import pykernels.vendors.oneflow_legacy
from pykernels.vendors.oneflow_legacy import typing as tp

RNG = np.random.default_rng(0)
X, TARGET = RNG.normal(size=(8, 5)), RNG.normal(size=(8, 3))
STEPS = 6
#: OneFlow's attributes are float32, which this one is, too.
RATE = 0.125
EAGER = flow.ones(2)
CONSTANT = flow.optimizer.PiecewiseConstantScheduler([], [RATE])
#: A kernel whose gradient fails while the flag is a file.
FAILING = """
def forward(args):
    (x,) = args
    return x + 1


def backward(args):
    (dy, x, y) = args
    if x[0] < 0:
        raise ValueError("nothing to be done")
    return dy
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    flow.clear_default_session()
    yield
    flow.clear_default_session()


def numbers() -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in flow.get_all_variables().items()}


# ---- a network


def network(x: Any) -> Any:
    """Two layers of ops of folders."""
    ops = pykernels.list_ops()
    normal = flow.random_normal_initializer(0, 0.5)
    hidden = ops["sigmoid"].api.sigmoid(
        ops["dense"].api.dense(x, flow.get_variable("first", (7, 5), flow.float64, normal, random_seed=1))
    )
    return ops["dense"].api.dense(hidden, flow.get_variable("second", (3, 7), flow.float64, normal, random_seed=2))


def train_with(optimizer: Any) -> Callable[..., np.ndarray]:
    @flow.global_function(type="train")
    def train(
        x: tp.Numpy.Placeholder((8, 5), flow.float64), target: tp.Numpy.Placeholder((8, 3), flow.float64)
    ) -> tp.Numpy:
        with flow.scope.placement("cpu", "0:0"):
            loss = flow.math.squared_difference(network(x), target)
        optimizer.minimize(loss)
        return loss

    return train


@flow.global_function()
def predict(x: tp.Numpy.Placeholder((8, 5), flow.float64)) -> tp.Numpy:
    return network(x)


class Network:
    """The same in NumPy."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = dict(weights)

    def hidden(self) -> np.ndarray:
        return 1 / (1 + np.exp(-X @ self.weights["first"].T))

    def output(self) -> np.ndarray:
        return self.hidden() @ self.weights["second"].T

    def gradients(self) -> dict[str, np.ndarray]:
        """Of the mean of the squared differences."""
        hidden = self.hidden()
        d_output = 2 * (self.output() - TARGET) / TARGET.size
        d_hidden = d_output @ self.weights["second"] * hidden * (1 - hidden)
        return {"first": d_hidden.T @ X, "second": d_output.T @ hidden}


Update = Callable[[dict[str, np.ndarray], np.ndarray, int], np.ndarray]


def sgd(momentum: float = 0.0, decay: float = 0.0) -> Update:
    def update(state: dict[str, np.ndarray], gradient: np.ndarray, step: int) -> np.ndarray:
        state["m"] = momentum * state.get("m", 0) - RATE * gradient
        return state["m"] - RATE * decay * state["w"]

    return update


def adam(*, correct: bool = False, beta1: float = 0.9, beta2: float = 0.999, decay: float = 0.0) -> Update:
    beta1, beta2 = float(np.float32(beta1)), float(np.float32(beta2))

    def update(state: dict[str, np.ndarray], gradient: np.ndarray, step: int) -> np.ndarray:
        m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * gradient
        v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * gradient**2
        if correct:
            m, v = m / (1 - beta1**step), v / (1 - beta2**step)
        return -RATE * (m / (np.sqrt(v) + 1e-8) + decay * state["w"])

    return update


OPTIMIZERS = {
    "SGD": (flow.optimizer.SGD(CONSTANT, momentum=0), sgd()),
    "momentum": (flow.optimizer.SGD(CONSTANT), sgd(0.9)),
    "loss scale": (flow.optimizer.SGD(CONSTANT, 16.0, 0), sgd()),
    "SGDW": (flow.optimizer.SGDW(CONSTANT, weight_decay=0.25), sgd(0.9, 0.25)),
    "Adam": (flow.optimizer.Adam(CONSTANT), adam()),
    "Adam, other betas": (flow.optimizer.Adam(CONSTANT, 0.5, 0.8), adam(beta1=0.5, beta2=0.8)),
    # With 0.999 OneFlow's float32 corrections have few digits.
    "Adam, corrected": (
        flow.optimizer.Adam(CONSTANT, beta2=0.75, do_bias_correction=True),
        adam(beta2=0.75, correct=True),
    ),
    "AdamW": (flow.optimizer.AdamW(CONSTANT, weight_decay=0.25), adam(decay=0.25)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_are_those_of_numpy_at_every_step(shipped: None, name: str) -> None:
    optimizer, update = OPTIMIZERS[name]
    train = train_with(optimizer)
    first = predict(X)
    network = Network(numbers())
    np.testing.assert_allclose(first, network.output(), rtol=1e-5, atol=1e-6)
    states: dict[str, dict[str, np.ndarray]] = {name: {} for name in network.weights}
    for step in range(1, STEPS + 1):
        np.testing.assert_allclose(train(X, TARGET), (network.output() - TARGET) ** 2, rtol=1e-5, atol=1e-6)
        for name, gradient in network.gradients().items():
            states[name]["w"] = network.weights[name]
            network.weights[name] = network.weights[name] + update(states[name], gradient, step)
        for name, found in numbers().items():
            np.testing.assert_allclose(found, network.weights[name], rtol=1e-5, atol=1e-6)
        # The other job has the same variables.
        np.testing.assert_allclose(predict(X), network.output(), rtol=1e-5, atol=1e-6)


def test_weights_that_are_loaded_are_trained_on(shipped: None, tmp_path: Path) -> None:
    train = train_with(flow.optimizer.SGD(CONSTANT, momentum=0))
    train(X, TARGET)
    flow.checkpoint.save(tmp_path / "model")
    expected = [train(X, TARGET), train(X, TARGET)]
    flow.load_variables(flow.checkpoint.get(tmp_path / "model"))
    np.testing.assert_array_equal([train(X, TARGET), train(X, TARGET)], expected)


# ---- one variable, whose gradient is 1


def path(scheduler: Any = CONSTANT, steps: int = 8, scale: float = 1.0, **settings: Any) -> np.ndarray:
    """The values of a variable that begins with 1, where the gradient of the loss is `scale`."""

    @flow.global_function(type="train")
    def train() -> tp.Numpy:
        w = flow.get_variable("w", (1,), flow.float64, flow.ones_initializer(), settings.get("regularizer"))
        optimizer = settings.get("optimizer", flow.optimizer.SGD)
        optimizer(scheduler, momentum=0, **settings.get("options", {})).minimize(w * scale)
        return w

    return np.array([train()[0] for _ in range(steps + 1)])


T = np.arange(8)
SCHEDULES = {
    "constant": (flow.optimizer.PiecewiseConstantScheduler([2, 4], [0.1, 0.2, 0.3]), [0.1] * 3 + [0.2] * 2 + [0.3] * 3),
    "scaling": (flow.optimizer.PiecewiseScalingScheduler(0.2, [2, 4], 0.5), [0.2] * 3 + [0.1] * 5),
    "scalings": (flow.optimizer.PiecewiseScalingScheduler(0.2, [2], [3.0]), [0.2] * 3 + [0.6] * 5),
    "cosine": (
        flow.optimizer.CosineScheduler(0.2, 5, 0.1),
        0.2 * (0.9 * (1 + np.cos(np.pi * np.minimum(T, 5) / 5)) / 2 + 0.1),
    ),
    "linear cosine": (
        flow.optimizer.LinearCosineScheduler(0.2, 5, 1.5, 0.1, 0.01),
        0.2 * ((1.1 - np.minimum(T, 5) / 5) * (1 + np.cos(3 * np.pi * np.minimum(T, 5) / 5)) / 2 + 0.01),
    ),
    "polynomial": (
        flow.optimizer.PolynomialScheduler(0.2, 5, 0.05, 2.0),
        0.15 * (1 - np.minimum(T, 5) / 5) ** 2 + 0.05,
    ),
    "cycle": (
        flow.optimizer.PolynomialScheduler(0.2, 3, 0.05, cycle=True),
        0.15 * (1 - np.maximum(T, 1) / (3 * np.ceil(np.maximum(T, 1) / 3))) + 0.05,
    ),
    "exponential": (flow.optimizer.ExponentialScheduler(0.2, 3, 0.5), 0.2 * 0.5 ** (T / 3)),
    "staircase": (flow.optimizer.ExponentialScheduler(0.2, 3, 0.5, staircase=True), 0.2 * 0.5 ** (T // 3)),
    "inverse": (flow.optimizer.InverseTimeScheduler(0.2, 3, 0.5), 0.2 / (1 + 0.5 * T / 3)),
    "natural": (flow.optimizer.NaturalExpScheduler(0.2, 3, 0.5), 0.2 * np.exp(-0.5 * T / 3)),
    "constant warmup": (
        flow.optimizer.ExponentialScheduler(0.2, 3, 0.5, warmup=flow.optimizer.warmup.constant(3, 0.1)),
        np.where(T < 3, 0.02, 0.2 * 0.5 ** (T / 3)),
    ),
    "linear warmup": (
        flow.optimizer.PiecewiseConstantScheduler([5], [0.2, 0.4], warmup=flow.optimizer.warmup.linear(4, 0.5)),
        np.where(T < 4, 0.2 * (0.5 + 0.5 * T / 4), np.where(T <= 5, 0.2, 0.4)),
    ),
    "no warmup": (flow.optimizer.CosineScheduler(0.2, 100, 1.0, flow.optimizer.warmup.linear(0, 0.5)), [0.2] * 8),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SCHEDULES)
def test_learning_rates_follow_their_formulas(name: str) -> None:
    scheduler, rates = SCHEDULES[name]
    np.testing.assert_allclose(-np.diff(path(scheduler)), rates, rtol=1e-6)


def test_gradients_are_clipped_by_their_norm() -> None:
    for scale, rate in ((4.0, 2.5 * RATE), (0.5, 0.5 * RATE)):
        flow.clear_default_session()
        options = {"grad_clipping": flow.optimizer.grad_clipping.by_global_norm(2.5)}
        np.testing.assert_allclose(-np.diff(path(scale=scale, options=options)), rate, rtol=1e-5)


def test_a_regularized_variable_is_part_of_its_gradient() -> None:
    w = path(regularizer=flow.regularizers.l2(0.3))
    np.testing.assert_allclose(-np.diff(w), RATE * (1 + 0.3 * w[:-1]), rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "decays"),
    [
        ({}, True),
        ({"weight_decay_includes": "w"}, True),
        ({"weight_decay_includes": ["bias", "x"]}, False),
        ({"weight_decay_excludes": ["w"]}, False),
        ({"weight_decay_excludes": "bias"}, True),
    ],
    ids=str,
)
def test_variables_decay_as_their_names_say(options: dict[str, Any], decays: bool) -> None:
    w = path(optimizer=flow.optimizer.SGDW, options={"weight_decay": 0.5, **options})
    np.testing.assert_allclose(-np.diff(w), RATE * (1 + 0.5 * w[:-1] * decays), rtol=1e-6)


# ---- several


def train_one(body: Callable[[], Any], losses: Callable[[Any], Any] = lambda x: x) -> Any:
    @flow.global_function(type="train")
    def train() -> tp.Bundle[tp.Numpy]:
        values = body()
        flow.optimizer.SGD(CONSTANT, momentum=0).minimize(losses(values))
        return values

    return train()


def variable(name: str, shape: tuple[int, ...] = (2,), **settings: Any) -> Any:
    return flow.get_variable(name, shape, initializer=flow.ones_initializer(), **settings)


def test_several_losses_are_added_up() -> None:
    train_one(lambda: [variable("a"), 3 * variable("b")])
    assert {name: array.tolist() for name, array in numbers().items()} == {
        "a": [1 - RATE / 2] * 2,
        "b": [1 - 3 * RATE / 2] * 2,
    }


def test_what_is_not_trainable_stays() -> None:
    train_one(lambda: variable("a") + variable("b", trainable=False))
    train_one(lambda: variable("a", trainable=False) + variable("b"))
    assert [array.tolist() for array in numbers().values()] == [[1 - RATE / 2] * 2] * 2


def test_integers_are_not_trained() -> None:
    train_one(lambda: variable("a") + variable("b", dtype=flow.int32).to(flow.float32))
    assert numbers()["b"].tolist() == [1, 1]


def test_a_variable_that_the_loss_does_not_need_stays() -> None:
    train_one(lambda: [variable("a"), variable("b")], lambda values: values[0])
    assert numbers()["b"].tolist() == [1, 1]


def test_results_are_those_before_the_step() -> None:
    assert train_one(lambda: variable("a")).tolist() == [1, 1]


def test_a_job_without_results_trains() -> None:
    seen = []

    @flow.global_function(type="train")
    def train() -> None:
        loss = variable("a")
        flow.optimizer.SGD(CONSTANT).minimize(loss)
        flow.watch(loss, lambda array: seen.append(array.tolist()))

    assert train() is train() is None
    assert seen == [[1, 1], [1 - RATE / 2] * 2]


def test_an_input_may_be_added_to() -> None:
    @flow.global_function(type="train")
    def train(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        x += variable("a")
        flow.optimizer.SGD(CONSTANT).minimize(x * x)
        return x

    given = np.array([1, 2], np.float32)
    assert train(given).tolist() == [2, 3]
    assert given.tolist() == [1, 2]
    np.testing.assert_allclose(numbers()["a"], [1 - RATE * 2, 1 - RATE * 3], rtol=1e-6)


def test_a_handle_and_a_callback_of_a_training_job() -> None:
    @flow.global_function("train")
    def handle():
        loss = variable("a")
        flow.optimizer.SGD(CONSTANT).minimize(loss)
        return loss

    @flow.global_function("train")
    def callback() -> tp.Callback[tp.Numpy]:
        loss = variable("b")
        flow.optimizer.SGD(CONSTANT).minimize(loss)
        return loss

    seen: list[Any] = []
    for _ in range(2):
        callback()(seen.append)
    for results in (seen, [handle().get() for _ in range(2)]):
        assert [array.tolist() for array in results] == [[1, 1], [1 - RATE / 2] * 2]


# ---- mistakes


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (lambda w: [], r"minimize\(\) takes a loss of this job, or several of one shape and dtype, not none"),
        (lambda w: 3.0, r"minimize\(\) takes a loss of this job, .* not 3.0"),
        (lambda w: EAGER, r"not oneflow.float32\(2,\) from outside of it"),
        (lambda w: [w, w.sum()], r"one shape and dtype, not oneflow.float32\(2,\), oneflow.float32\(\)"),
        (lambda w: flow.ones(2) * 2, r":\d+: job train: the loss that it minimizes depends on no trainable variable"),
    ],
)
def test_what_is_no_loss_is_refused(losses: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pykernels.CallError, match=message):
        train_one(lambda: variable("a"), losses)


def test_a_loss_without_trainable_variables_is_refused() -> None:
    with pytest.raises(
        pykernels.CallError, match="job train: the loss that it minimizes depends on no trainable variab"
    ):
        train_one(lambda: variable("a", trainable=False) * 2)
    assert train_one(lambda: variable("a")).tolist() == [1, 1]


def run_job(type: str, body: Callable[[], Any]) -> Any:
    @flow.global_function(type)
    def chosen() -> tp.Numpy:
        return body()

    return chosen()


def test_optimizers_are_for_jobs_that_train() -> None:
    optimizer = flow.optimizer.SGD(CONSTANT)

    def twice() -> Any:
        loss = variable("a")
        optimizer.minimize(loss)
        optimizer.minimize(loss)

    with pytest.raises(
        pykernels.CallError, match="called in a job that does not train: @flow.global_function\\(type='t"
    ):
        run_job("predict", lambda: optimizer.minimize(variable("a")))
    with pytest.raises(
        pykernels.CallError, match=r"job chosen: it is of type 'train', but minimizes nothing: flow.opti"
    ):
        run_job("train", lambda: variable("a"))
    with pytest.raises(pykernels.CallError, match=r"minimize\(\) is called twice in one job"):
        run_job("train", twice)
    with pytest.raises(pykernels.CallError, match=r"flow.optimizer.SGD\(...\).minimize is called outside of a job"):
        optimizer.minimize(flow.ones(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda o: o.SGD(0.1),
            r"SGD takes a scheduler of the learning rate, such as .*Scheduler\(\[\], \[0.1\]\), not 0.1",
        ),
        (
            lambda o: o.Adam(CONSTANT, grad_clipping=1.0),
            r"Adam: grad_clipping must be .*by_global_norm\(...\), not 1.0",
        ),
        (lambda o: o.AdamW(CONSTANT, weight_decay_includes="a", weight_decay_excludes="b"), "or weight_decay_excludes"),
        (
            lambda o: o.PiecewiseConstantScheduler([1], [0.1]),
            "1 boundaries divide the steps into 2 parts, but there are 1",
        ),
        (lambda o: o.PiecewiseConstantScheduler([], []), "values must hold one learning rate or more"),
        (
            lambda o: o.PiecewiseScalingScheduler(1, [1], [1, 2]),
            "1 boundaries divide .* 2 parts, but there are 3 values",
        ),
        (lambda o: o.CosineScheduler(0.1, 0), "CosineScheduler: steps must be 1 or more, not 0"),
        (lambda o: o.CosineScheduler(0.1, 5, warmup=3), "CosineScheduler: warmup must be one of flow.optimizer.warmup"),
        (
            lambda o: o.warmup.linear(5, 2),
            r"warmup.linear\(5, 2\): the steps must be 0 or more, the multiplier from 0 to",
        ),
    ],
)
def test_wrong_settings_are_named(make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pykernels.CallError, match=message):
        make(flow.optimizer)


def test_a_job_trains_with_inputs_of_one_shape() -> None:
    @flow.global_function("train")
    def train(x: tp.ListNumpy.Placeholder((4,))) -> tp.Numpy:
        loss = x * variable("a", (1,))
        flow.optimizer.SGD(CONSTANT).minimize(loss)
        return loss

    assert list(numbers()) == ["a"]
    for _ in range(2):
        assert train([np.ones(3)]).shape == (3,)
    with pytest.raises(
        pykernels.CallError, match=r"job train: its inputs have shapes \(\(4,\),\), but it has been trained"
    ):
        train([np.ones(4)])


def test_a_gradient_that_fails_fails_the_step(load: Callable[..., str]) -> None:
    name = load(FAILING)
    module = pykernels.list_ops()[name]
    source, target = module.forward.inputs[0].name, module.forward.outputs[0].name

    @flow.global_function("train")
    def train(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        x = x + flow.get_variable("w", (2,), initializer=flow.zeros_initializer())
        op = flow.user_op_builder("failing").Op(f"{name}_forward").Input(source, [x]).Output(target).Build()
        loss = op.InferAndTryRun().SoleOutputBlob()
        flow.optimizer.SGD(CONSTANT).minimize(loss)
        return loss

    assert train(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(pykernels.KernelError, match="nothing to be done"):
        train(-np.ones(2))
    assert np.isnan(numbers()["w"]).all()
    flow.load_variables({"w": np.zeros(2, np.float32)})
    assert train(np.ones(2)).tolist() == [2, 2]


# ---- both ways in

SCRIPT = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp

module = flow.experimental.custom_op_module("sigmoid", {ops!r})
module.py_api().cpp_def().py_kernel().build_load()


@flow.global_function(type="train")
def train(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        w = flow.get_variable("w", (3,), initializer=flow.zeros_initializer())
        loss = module.api.sigmoid(x + w)
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.6]), momentum=0).minimize(loss)
    return loss


for _ in range(2):
    train(np.zeros((2, 3), np.float32))
print(flow.get_all_variables()["w"].numpy())
"""


@pytest.mark.parametrize("way", ["import", "run"])
def test_a_script_trains(tmp_path: Path, way: str) -> None:
    text = SCRIPT.format(ops=str(pykernels.base.paths.OPS))
    (tmp_path / "script.py").write_text(("import pykernels.vendors.oneflow_legacy\n" if way == "import" else "") + text)
    arguments: Sequence[str] = ["script.py"] if way == "import" else ["-m", "pykernels", "run", "script.py"]
    done = process.python(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # The gradient of the mean is a sixth for each element, of which there are two to each variable.
    first = -0.6 * 0.25 / 3
    y = 1 / (1 + np.exp(-first))
    np.testing.assert_allclose(np.fromstring(done.stdout.strip("[]\n"), sep=" "), first - 0.2 * y * (1 - y), rtol=1e-5)
