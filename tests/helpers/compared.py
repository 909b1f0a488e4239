"""Kernels that return many expressions, beside what NumPy returns for them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from compiled import build, kernel_of, run

RNG = np.random.default_rng(3)


def check(folder: Path, lines: Sequence[str], inputs: Sequence[np.ndarray], *, rtol: float = 0) -> None:
    """Compare the value of each line, an expression of the inputs `x`, `y` and `z`, with NumPy's."""
    names = "".join(f"{name}, " for name, _ in zip("xyz", inputs))
    body = "".join(f"    r{i} = {line}\n" for i, line in enumerate(lines))
    returned = "".join(f"r{i}, " for i in range(len(lines)))
    kernel = kernel_of(folder, f"def forward(args):\n    {names}= args\n{body}    return {returned}\n")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = [np.asarray(each) for each in kernel.function(tuple(inputs))]
    made = [np.full(each.shape, 7, each.dtype) for each in expected]
    built = build(kernel, inputs, made)
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, inputs, made) is None
    for line, one, other in zip(lines, made, expected):
        np.testing.assert_allclose(one, other, rtol, err_msg=line)


def example(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers, with NaN, an infinity and a negative zero if the dtype has them."""
    x = (RNG.standard_normal(shape) * 20).astype(dtype)
    if x.dtype.kind == "f" and x.size > 9:
        x.reshape(-1)[[1, 3, 5, 7]] = np.nan, -0.0, np.inf, -np.nan
    return x
