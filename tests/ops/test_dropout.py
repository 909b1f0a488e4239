"""Dropout: which elements are dropped, when, and that this is the same in compiled code as in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.load.module import OpModule


@pytest.fixture(autouse=True, scope="module")
def module() -> Iterator[OpModule]:
    yield pykernels.load_ops(paths.OPS / "dropout")["dropout"]
    pykernels.unload_ops()


def train(x: np.ndarray, **attributes: Any) -> list[np.ndarray]:
    with mx.autograd.train_mode():
        results = mx.nd.Custom(mx.nd.array(x, dtype=x.dtype), op_type="dropout", **attributes)
    return [y.asnumpy() for y in results]


def test_outside_of_training_nothing_happens(module: OpModule) -> None:
    x = np.float32([[1, -2, 3]])
    for y, mask in (module.api.dropout(x), mx.nd.Custom(mx.nd.array(x), op_type="dropout")):
        np.testing.assert_array_equal(y if isinstance(y, np.ndarray) else y.asnumpy(), x)
        np.testing.assert_array_equal(mask if isinstance(mask, np.ndarray) else mask.asnumpy(), np.ones_like(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_training_equals_plain(module: OpModule, dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(30, 40)).astype(dtype)
    y, mask = train(x, p=0.3, seed=2**40 + 1)
    plain = module.kernel("dropout_forward").function
    outs = np.empty_like(x), np.empty_like(x)
    with np.errstate(over="ignore"):  # of the products of the hash
        plain((x,), outs, p=0.3, seed=2**40 + 1, is_train=True)
    for result, expected in zip((y, mask), outs):
        assert result.dtype == expected.dtype == dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
def test_p_of_the_elements_are_dropped_and_the_mean_stays(p: float) -> None:
    x = np.ones((200, 200))
    y, mask = train(x, p=p, seed=5)
    np.testing.assert_array_equal(y, mask)
    assert set(np.unique(mask)) == {0, 1 / (1 - p)}
    # Five standard deviations of a mean of 40,000 draws.
    assert abs((mask == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / x.size)
    # Neither rows nor columns nor neighbours know of each other.
    dropped = (mask == 0) - p
    for one, other in ((dropped[1:], dropped[:-1]), (dropped[:, 1:], dropped[:, :-1])):
        assert abs((one * other).mean()) < 5 * p * (1 - p) / np.sqrt(one.size)


def test_seeds_decide_which() -> None:
    x = np.ones((100, 100))
    masks = [train(x, p=0.5, seed=seed)[1] for seed in (0, 1, 2, 2**62)]
    np.testing.assert_array_equal(masks[0], train(x, p=0.5)[1])
    for i, one in enumerate(masks):
        for other in masks[:i]:
            assert abs((one == other).mean() - 0.5) < 0.03


def test_nothing_is_dropped_with_p_0() -> None:
    x = np.float32([[1, 2]])
    np.testing.assert_array_equal(train(x, p=0)[0], x)


def test_the_gradient_is_masked() -> None:
    x = mx.nd.ones((4, 5))
    x.attach_grad()
    with mx.autograd.record():
        y, mask = mx.nd.Custom(x, op_type="dropout", seed=1)
        (3 * y).sum().backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 3 * mask.asnumpy())
    assert 0 < (mask.asnumpy() == 0).sum() < 20
