"""Variables of jobs: their first values, who shares them, and files of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import pytest

import pykernels
import pykernels.vendors.oneflow_legacy
from pykernels.vendors.oneflow_legacy import typing as tp

SHAPE = (40, 50)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No variables of other tests."""
    flow.clear_default_session()
    yield
    flow.clear_default_session()


def job(body: Callable[[], Any]) -> Callable[[], np.ndarray]:
    @flow.global_function()
    def chosen() -> tp.Numpy:
        return body()

    return chosen


def value(initializer: Any, name: str = "w", shape: tuple[int, ...] = SHAPE, **settings: Any) -> np.ndarray:
    return job(lambda: flow.get_variable(name, shape, initializer=initializer, **settings))()


# ---- first values


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("initializer", "mean", "deviation", "limit"),
    [
        (flow.zeros_initializer(), 0, 0, 0),
        (flow.ones_initializer(), 1, 0, 1),
        (flow.constant_initializer(2.5), 2.5, 0, 2.5),
        (flow.random_uniform_initializer(-1, 3), 1, 4 / np.sqrt(12), 3),
        (flow.random_normal_initializer(2, 0.5), 2, 0.5, np.inf),
        (flow.truncated_normal(0.1), 0, 0.088, 0.2),
        (flow.truncated_normal_initializer(0, 0.1), 0, 0.088, 0.2),
        (flow.glorot_uniform_initializer(), 0, np.sqrt(2 / 90), np.sqrt(6 / 90)),
        (flow.xavier_normal_initializer(), 0, np.sqrt(2 / 90), np.inf),
        (flow.kaiming_initializer(SHAPE), 0, np.sqrt(2 / 50), np.inf),
    ],
)
def test_initializers_give_the_first_values(initializer: Any, mean: float, deviation: float, limit: float) -> None:
    array = value(initializer)
    assert (array.shape, array.dtype) == (SHAPE, np.float32)
    assert abs(array.mean() - mean) <= 0.1 * deviation
    assert abs(array.std() - deviation) <= 0.1 * deviation
    assert np.abs(array).max() <= limit * (1 + 1e-6)


@pytest.mark.thorough
def test_random_values_follow_their_seeds() -> None:
    def draw(name: str, **settings: Any) -> list[float]:
        return value(flow.random_normal_initializer(), name, (4,), **settings).tolist()

    assert draw("a", random_seed=1) == draw("b", random_seed=1) != draw("c", random_seed=2)
    flow.manual_seed(3)
    first = [draw("d"), draw("e")]
    assert first[0] != first[1]
    flow.clear_default_session()
    flow.manual_seed(3)
    assert [draw("d"), draw("e")] == first


def test_a_default_initializer_is_that_of_the_settings() -> None:
    config = flow.FunctionConfig()
    config.default_initializer_conf({"constant_conf": {"value": 4.0}})

    @flow.global_function(function_config=config)
    def chosen() -> tp.Numpy:
        return flow.get_variable("w", (2,))

    assert chosen().tolist() == [4, 4]


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [flow.float64, flow.int32, flow.int64])
def test_variables_of_other_dtypes(dtype: Any) -> None:
    assert value(flow.constant_initializer(3, dtype), "w", (), dtype=dtype) == 3


# ---- who shares what


@pytest.mark.thorough
def test_jobs_share_variables_by_name() -> None:
    assert value(flow.ones_initializer(), shape=(2,)).tolist() == [1, 1]
    assert value(flow.zeros_initializer(), shape=(2,)).tolist() == [1, 1]
    assert value(None, shape=(2,)).tolist() == [1, 1]


def test_a_name_stands_for_one_variable_of_a_job() -> None:
    def body() -> Any:
        first = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
        return first + flow.get_variable("w", (2,))

    assert job(body)().tolist() == [2, 2]
    with pytest.raises(pykernels.CallError, match="the job has a variable 'w' already, and reuse=False"):
        job(lambda: flow.get_variable("w", (2,)) + flow.get_variable("w", (2,), reuse=False))()


def test_namespaces_begin_names() -> None:
    def body() -> Any:
        with flow.scope.namespace("a"), flow.scope.namespace("b"):
            inner = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        return inner + flow.get_variable("w", (1,), initializer=flow.zeros_initializer())

    job(body)()
    assert sorted(flow.get_all_variables()) == ["a-b-w", "w"]


def test_a_job_that_could_not_be_built_leaves_no_variables() -> None:
    def body() -> Any:
        flow.get_variable("left", (2,), initializer=flow.ones_initializer())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job(body)()
    assert value(flow.zeros_initializer(), "left", (3,)).tolist() == [0, 0, 0]


def test_a_session_begins_anew() -> None:
    run = job(lambda: flow.get_variable("w", (1,), initializer=flow.ones_initializer()))
    run()
    flow.load_variables({"w": np.array([5], np.float32)})
    assert run().tolist() == [5]
    flow.clear_default_session()
    assert run().tolist() == [1]


# ---- mistakes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": ""}, r"get_variable\(''\): a variable needs a name"),
        ({"name": 3}, r"get_variable\(3\): a variable needs a name"),
        ({"shape": None}, r"get_variable\('w'\): shape must be a tuple of integers from 1 on, not None"),
        ({"shape": (0, 2)}, r"shape must be a tuple of integers from 1 on, not \(0, 2\)"),
        ({"dtype": np.float32}, "dtype must be one of OneFlow's, such as flow.float32, not <class"),
        ({"initializer": None}, "a new variable needs an initializer, such as initializer=flow.zeros_init"),
        ({"initializer": 3}, r"initializer must be one of OneFlow's, such as flow.zeros_initializer\(\), not 3"),
        ({"regularizer": 3}, r"regularizer must be flow.regularizers.l2\(...\), not 3"),
    ],
)
def test_wrong_arguments_are_named(settings: dict[str, Any], message: str) -> None:
    given = {"name": "w", "shape": (2,), "initializer": flow.ones_initializer(), **settings}
    with pytest.raises(pykernels.CallError, match=message):
        job(lambda: flow.get_variable(**given))()


def test_a_variable_has_one_shape_and_dtype() -> None:
    value(flow.ones_initializer(), shape=(2,))
    message = r"variable 'w' is oneflow.float32\(2,\), and oneflow.{} is requested; jobs share variables by name"
    with pytest.raises(pykernels.CallError, match=message.format(r"float32\(3,\)")):
        value(flow.ones_initializer(), shape=(3,))
    with pytest.raises(pykernels.CallError, match=message.format(r"int32\(2,\)")):
        value(flow.ones_initializer(), shape=(2,), dtype=flow.int32)


def test_variables_are_for_jobs() -> None:
    with pytest.raises(pykernels.CallError, match="flow.get_variable is called outside of a job: call it in"):
        flow.get_variable("w", (2,), initializer=flow.ones_initializer())


# ---- files


@pytest.mark.thorough
@pytest.mark.parametrize("initializer", [flow.zeros_initializer(), None], ids=["new", "only loaded"])
def test_what_is_saved_is_loaded(tmp_path: Path, initializer: Any) -> None:
    shapes = {"w": (3, 2), "b": (2,), "scalar": ()}
    saved = {name: value(flow.random_normal_initializer(), name, shape) for name, shape in shapes.items()}
    flow.checkpoint.save(tmp_path / "model")
    read = flow.checkpoint.get(str(tmp_path / "model"))
    assert sorted(read) == sorted(saved)
    flow.clear_default_session()
    jobs = {n: job(lambda n=n, s=s: flow.get_variable(n, s, initializer=initializer)) for n, s in shapes.items()}
    if initializer is None:
        jobs.clear()
    flow.load_variables(read)
    for name, array in saved.items():
        run = jobs.get(name) or job(lambda n=name: flow.get_variable(n, shapes[n]))
        np.testing.assert_array_equal(run(), array)


def test_jobs_need_not_have_been_called(tmp_path: Path) -> None:
    run = job(lambda: flow.get_variable("w", (2,), initializer=flow.ones_initializer()))
    assert {name: tensor.numpy().tolist() for name, tensor in flow.get_all_variables().items()} == {"w": [1, 1]}
    checkpoint = flow.train.CheckPoint()
    checkpoint.init()
    checkpoint.save(tmp_path / "model")
    flow.load_variables({"w": np.zeros(2, np.float32)}, ignore_mismatch=False)
    assert run().tolist() == [0, 0]
    checkpoint.load(tmp_path / "model")
    assert run().tolist() == [1, 1]


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    value(flow.ones_initializer(), shape=(2,))
    for wrong in (np.ones(3, np.float32), np.ones(2)):
        with pytest.raises(pykernels.CallError, match=r"variable 'w' is oneflow.float32\(2,\), its value float"):
            flow.load_variables({"w": wrong})
    with pytest.raises(pykernels.CallError, match="variable 'v' does not exist; the variables are w"):
        flow.load_variables({"v": np.ones(2)}, ignore_mismatch=False)
    with pytest.raises(pykernels.CallError, match="flow.checkpoint.get: absent is not a folder of variables"):
        flow.checkpoint.get("absent")
    (tmp_path / "file").touch()
    with pytest.raises(pykernels.CallError, match=r"flow.checkpoint.save: .* already exists and is not empty"):
        flow.checkpoint.save(tmp_path)
