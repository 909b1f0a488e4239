"""Losses: as the end of a network, at extreme values, and with targets that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.base.errors import KernelError

LOGITS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])
LABELS = np.array([2, 0], np.int32)


@pytest.fixture(autouse=True, scope="module")
def api() -> Iterator[dict[str, Any]]:
    names = ("softmax_cross_entropy", "focal_loss", "smooth_l1")
    modules = pykernels.load_ops(*(paths.OPS / name for name in names))
    yield {name: getattr(modules[name].api, name) for name in names}
    pykernels.unload_ops()


def logits_gradient(head: Any = None, **attributes: Any) -> np.ndarray:
    logits = mx.nd.array(LOGITS, dtype="float64")
    logits.attach_grad()
    with mx.autograd.record():
        loss, _ = mx.nd.Custom(
            logits, mx.nd.array(LABELS, dtype="int32"), op_type="softmax_cross_entropy", **attributes
        )
    loss.backward(head if head is None else mx.nd.array(head, dtype="float64"))
    return logits.grad.asnumpy()


def test_a_loss_at_the_end_of_a_network_ignores_what_comes_in() -> None:
    logits = mx.nd.array(LOGITS, dtype="float64")
    logits.attach_grad()
    with mx.autograd.record():
        y = mx.nd.SoftmaxOutput(logits, mx.nd.array(LABELS, dtype="float64"))
    y.backward()
    for head in (None, [0.0, 0.0], [7.0, -1.0]):
        np.testing.assert_allclose(logits_gradient(head, need_top_grad=False), logits.grad.asnumpy(), rtol=1e-12)


def test_the_chain_rule_is_the_default() -> None:
    plain = logits_gradient(need_top_grad=False)
    np.testing.assert_allclose(logits_gradient([7.0, -1.0]), plain * [[7.0], [-1.0]], rtol=1e-12)


def test_a_network_that_ends_in_the_loss_is_trained_without_a_gradient_from_above() -> None:
    graph = mx.sym.Custom(
        mx.sym.var("logits"), mx.sym.var("labels"), op_type="softmax_cross_entropy", need_top_grad=False
    )
    executor = graph.simple_bind(mx.cpu(), logits=(2, 3), labels=(2,), grad_req={"logits": "write", "labels": "null"})
    executor.forward(is_train=True, logits=mx.nd.array(LOGITS), labels=mx.nd.array(LABELS))
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["logits"].asnumpy(), logits_gradient(need_top_grad=False), rtol=1e-6)


def test_losses_stay_finite(api: dict[str, Any]) -> None:
    loss, probability = api["softmax_cross_entropy"](np.float32([[1e4, -1e4], [1e4, -1e4]]), np.array([0, 1]))
    np.testing.assert_array_equal(loss, [0, 2e4])
    np.testing.assert_array_equal(probability, [[1, 0], [1, 0]])
    x = np.float32([1e4, -1e4, 1e4, -1e4])
    loss = api["focal_loss"](x, np.array([1, 1, 0, 0]), alpha=0.25, gamma=2)
    np.testing.assert_allclose(loss, [0, 2500, 7500, 0])
    np.testing.assert_array_equal(api["smooth_l1"](np.float32([-1e30, 0, 1e30])), np.float32([1e30, 0, 1e30]))


def test_focal_loss_of_gamma_0_is_the_weighted_cross_entropy(api: dict[str, Any]) -> None:
    loss = api["focal_loss"](np.array([0.5, 0.5]), np.array([1.0, 0.0]), alpha=0.25, gamma=0)
    p = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(loss, [-0.25 * np.log(p), -0.75 * np.log(1 - p)], rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 3]), r"IndexError: labels\[1\] is 3, but the classes are 0 to 2"),
        (np.array([-1, 0]), r"IndexError: labels\[0\] is -1, but the classes are 0 to 2"),
        (np.array([0, 0.5]), r"ValueError: labels\[1\] is not a whole number"),
    ],
)
def test_labels_that_are_no_class_are_refused(api: dict[str, Any], labels: np.ndarray, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        api["softmax_cross_entropy"](LOGITS, labels)
    arrays = mx.nd.array(LOGITS), mx.nd.array(labels, dtype=labels.dtype)
    loss, _ = mx.nd.Custom(*arrays, op_type="softmax_cross_entropy")
    with pytest.raises(mx.MXNetError, match=message):
        loss.asnumpy()


def test_targets_other_than_0_and_1_are_refused(api: dict[str, Any]) -> None:
    with pytest.raises(KernelError, match="ValueError: every target must be 0 or 1"):
        api["focal_loss"](np.zeros(2), np.array([0, -1]))
