"""The ways in which a shipped op says that it can be distributed: parts, put together, are the whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from cases import CASES, Case
from sbp import Broadcast, Sbp, Split, signatures
from steps import Step, backward_step, forward_step

import pykernels
from pykernels.base import paths
from pykernels.define.instance import TensorSpec

DEVICES = 2


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()


def part(array: np.ndarray, how: Sbp, device: int) -> np.ndarray:
    assert how in (Broadcast(),) or isinstance(how, Split), "sums of inputs are not what these ops take"
    return np.array_split(array, DEVICES, how.axis)[device] if isinstance(how, Split) else array


def together(parts: list[np.ndarray], how: Sbp) -> np.ndarray:
    if isinstance(how, Split):
        return np.concatenate(parts, how.axis)
    if isinstance(how, Broadcast):
        np.testing.assert_allclose(parts[0], parts[1], rtol=1e-12, atol=1e-12)
        return parts[0]
    return np.sum(parts, axis=0)


def check(step: Step) -> int:
    """Try every signature; how many there are."""
    expected = step.run()
    specs = [[TensorSpec(x.shape, x.dtype)] for x in step.inputs]
    found = signatures(step.op, specs, step.attributes)
    for signature in found:
        ways = [signature[argument.name, 0] for argument in step.op.inputs]
        devices = range(DEVICES)
        results = [step.run([part(x, how, d) for x, how in zip(step.inputs, ways)]) for d in devices]
        for argument, whole, *parts in zip(step.op.outputs, expected, *results):
            result = together(parts, signature[argument.name, 0])
            np.testing.assert_allclose(result, whole, rtol=1e-12, atol=1e-12)
    return len(found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_parts_are_the_whole(case: Case) -> None:
    # Which boxes stay depends on all boxes, and what is dropped on the place in the whole tensor.
    assert bool(check(forward_step(case))) == (case.op not in ("nms", "dropout"))


@pytest.mark.parametrize("case", [case for case in CASES if case.variables], ids=str)
def test_parts_of_gradients_are_the_whole(case: Case) -> None:
    assert bool(check(backward_step(case))) == (case.op != "dropout")
