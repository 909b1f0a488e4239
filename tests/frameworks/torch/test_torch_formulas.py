"""Operators that are written from their formulas have the values and gradients of PyTorch's own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from formulas import ALL, Formula
from torch_formulas import OWN, Pair, pairs

import pykernels

NAMES = [formula.__name__ for formula in ALL]


def run(formula: type[Formula], name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the results of a formula's function, run by plain NumPy."""
    function, parameters = getattr(formula, name), inspect.signature(formula.shapes).parameters
    taken = inspect.signature(function).parameters
    results = function(arrays, **{each: parameters[each].default for each in parameters if each in taken})
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("formula", ALL, ids=NAMES)
def test_formulas_as_plain_numpy(formula: type[Formula]) -> None:
    arrays = formula.sample(np.random.default_rng(0))
    tensors = [torch.from_numpy(array.copy()) for array in arrays]
    wanted = [tensor.requires_grad_() for name, tensor in zip(formula.inputs(), tensors) if name in formula.gradients]
    own: Any = OWN[formula.__name__](*tensors)
    own = tuple(own) if isinstance(own, tuple) else (own,)
    made = run(formula, "forward", *arrays)
    check(made, own)
    head = np.random.default_rng(1).standard_normal(own[0].shape).astype(np.float32)
    gradients = torch.autograd.grad(own[0], wanted, torch.from_numpy(np.asarray(head)))
    check(run(formula, "backward", head, *arrays, *made[1:]), gradients)


def check(made: tuple[np.ndarray, ...], own: tuple[torch.Tensor, ...]) -> None:
    assert len(made) == len(own)
    for ours, theirs in zip(made, own):
        expected = theirs.detach().numpy()
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    """The operators beside PyTorch's, by name."""
    yield {pair.name: pair for pair in pairs(Path(tmp_path_factory.mktemp("formulas")))}
    for name in NAMES:
        pykernels.unload_ops(name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_compiled_formulas(compiled: dict[str, Pair], name: str) -> None:
    assert compiled[name].difference() < 1e-5
