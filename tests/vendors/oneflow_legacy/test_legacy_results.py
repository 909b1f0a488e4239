"""What jobs return: in every form that they can be annotated with, and without annotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow
import pytest

import pykernels
import pykernels.vendors.oneflow_legacy
from pykernels.vendors.oneflow_legacy import typing as tp

X = np.array([-1.0, 0.0, 2.0], np.float32)


def job(body: Callable[[Any], Any], *result: Any) -> Callable[..., Any]:
    """A job of one parameter, whose result is annotated, or not."""

    def chosen(x):
        return body(x)

    chosen.__annotations__ = {"x": tp.Numpy.Placeholder((3,))}
    if result:
        (chosen.__annotations__["return"],) = result
    return flow.global_function()(chosen)


def structure(x: Any) -> dict[str, Any]:
    return {"twice": x * 2, "both": (x, [x + 1])}


def test_lists_dicts_and_bundles() -> None:
    first, second = job(lambda x: [x, x * 2], list[tp.Numpy])(X)
    assert second.tolist() == (X * 2).tolist()
    result = job(lambda x: {"same": x, "more": x + 1}, dict[str, tp.ListNumpy])(X)
    assert list(result) == ["same", "more"]
    assert result["more"][0].tolist() == (X + 1).tolist()
    result = job(structure, tp.Bundle[tp.Numpy])(X)
    assert result["twice"].tolist() == (X * 2).tolist()
    assert isinstance(result["both"], tuple)
    assert result["both"][1][0].tolist() == (X + 1).tolist()
    assert type(first) is type(result["twice"]) is np.ndarray


def test_a_job_without_annotation_gives_a_handle() -> None:
    run = job(structure)
    first, second = run(X), run(X + 1)
    result = first.get()
    assert second.get()["twice"].numpy().tolist() == (X * 2 + 2).tolist()
    assert result["twice"].numpy().tolist() == (X * 2).tolist()
    assert type(result["twice"].numpy()) is type(result["twice"].numpy_list()[0]) is np.ndarray
    assert (result["twice"] + 1).tolist() == (X * 2 + 1).tolist()
    assert result["both"][1][0].shape == (3,)
    seen: list[Any] = []
    run(X).async_get(seen.append)
    assert seen[0]["twice"].ndarray().tolist() == (X * 2).tolist()


def test_a_callback_is_called_with_the_results() -> None:
    run = job(lambda x: (x, x * 2), tp.Callback[tuple[tp.Numpy, tp.Numpy]])
    seen: list[Any] = []
    assert run(X)(seen.append) is None
    ((first, second),) = seen
    assert (first.tolist(), second.tolist()) == (X.tolist(), (X * 2).tolist())


def test_a_job_may_return_nothing() -> None:
    assert job(lambda x: None, None)(X) is None
    assert job(lambda x: None)(X).get() is None


def test_parameters_may_have_placeholders_as_defaults() -> None:
    @flow.global_function()
    def total(a=flow.FixedTensorDef((2, 2)), b=flow.MirroredTensorDef((3,), dtype=flow.int32)):
        return a.sum() + b.sum()

    assert total(np.ones((2, 2)), [np.array([1, 2])]).get().numpy() == 7
    with pytest.raises(pykernels.CallError, match=r"job total: argument 'a' has shape \(2,\), but its placeholder has"):
        total(np.ones(2), [np.ones(3)])
    with pytest.raises(pykernels.CallError, match="job total: missing a required argument: 'b'"):
        total(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("result", "body", "message"),
    [
        (list[tp.Numpy], lambda x: x, "it returned Tensor where a list is annotated"),
        (dict[str, tp.Numpy], lambda x: [x], "it returned list where a dict is annotated"),
        (None, lambda x: x, "it returned Tensor where None is annotated"),
        (tp.Numpy, lambda x: None, "it returned None where a tensor is annotated"),
        (tp.Bundle[tp.Numpy], lambda x: [x, 3], "it returned int where a tensor is annotated"),
        (tp.Callback[tp.Numpy], lambda x: 3, "it returned int where a tensor is annotated"),
    ],
)
def test_what_is_not_as_annotated_is_refused(result: Any, body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pykernels.CallError, match=rf":\d+: job chosen: {message}"):
        job(body, result)(X)


def test_without_annotation_only_tensors_are_returned() -> None:
    with pytest.raises(pykernels.CallError, match="job chosen: it returned int among its results, which must be ten"):
        job(lambda x: (x, 3))(X)


# ---- watching


def test_a_tensor_is_watched(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    def handler(x: tp.Numpy) -> None:
        seen.append(x)

    def body(x: Any) -> Any:
        y = x * 2
        flow.watch(y, handler)
        flow.watch(y, lambda blob: seen.append(blob.numpy()))
        flow.watch(x, "x is")
        return y + 1

    run = job(body, tp.Numpy)
    assert [run(X * n).tolist() for n in (1, 2)] == [(X * 2 + 1).tolist(), (X * 4 + 1).tolist()]
    assert [array.tolist() for array in seen] == [(X * 2).tolist()] * 2 + [(X * 4).tolist()] * 2
    assert "x is\n[-1.  0.  2.]\nx is\n[-2.  0.  4.]\n" in capfd.readouterr().out


def test_mistakes_in_watching_are_refused() -> None:
    with pytest.raises(pykernels.CallError, match="flow.watch is called outside of a job"):
        flow.watch(flow.ones(3))
    with pytest.raises(pykernels.CallError, match="flow.watch takes a function of one parameter, not of 2"):
        job(lambda x: flow.watch(x, lambda a, b: None), None)(X)
    with pytest.raises(pykernels.CallError, match="flow.watch takes a tensor of the job, not 3"):
        job(lambda x: flow.watch(3), None)(X)


def training(body: Any) -> Any:
    @flow.global_function("train")
    def train(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        w = flow.get_variable("w", (3,), initializer=flow.ones_initializer())
        loss = body(x, w)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1]), momentum=0).minimize(loss)
        return loss

    return train


@pytest.mark.skipif(flow.__version__ != "0.8.0", reason="OneFlow 0.9 does not report gradients in graphs")
def test_gradients_are_watched(capfd: pytest.CaptureFixture[str]) -> None:
    flow.clear_default_session()
    seen: list[tuple[str, list[float]]] = []

    def body(x: Any, w: Any) -> Any:
        y = x * w
        loss = y * y + y
        flow.watch_diff(y, lambda blob: seen.append(("y", blob.numpy().tolist())))
        flow.watch_diff(w, lambda blob: seen.append(("w", blob.numpy().tolist())))
        flow.watch_diff(y, "gradient")
        return loss

    train, w = training(body), np.ones(3, np.float32)
    for _ in range(20):
        seen.clear()
        y = X * w
        np.testing.assert_allclose(train(X), y * y + y, rtol=1e-5)
        gradient = 2 * y + 1  # of the sum; the optimizer divides
        assert [name for name, _ in seen] == ["y", "w"]
        np.testing.assert_allclose([each for _, each in seen], [gradient, gradient * X], rtol=1e-5)
        w = w - np.float32(0.1) * gradient * X / 3
    assert capfd.readouterr().out.count("gradient\n[") == 20


@pytest.mark.skipif(flow.__version__ != "0.8.0", reason="OneFlow 0.9 does not report gradients in graphs")
def test_gradients_that_there_are_none_of_are_refused() -> None:
    flow.clear_default_session()
    with pytest.raises(pykernels.CallError, match="flow.watch_diff is called outside of a job"):
        flow.watch_diff(flow.ones(3))
    with pytest.raises(pykernels.CallError, match="flow.watch_diff is called in a job that does not train"):
        job(lambda x: flow.watch_diff(x), None)(X)
    with pytest.raises(pykernels.CallError, match="job train: flow.watch_diff: the tensor has no gradient"):
        training(lambda x, w: [flow.watch_diff(x * 2), x * w][1])(X)
