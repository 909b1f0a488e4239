"""The digits, batches and initial weights that all runs of ``digits.py`` share, and the result of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

BATCH = 64
LEARNING_RATE = 0.03
MOMENTUM = 0.9
WIDTHS = (64, 128, 64, 10)
#: The seed of the initial weights and the batches.
SEED = 4
# E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
# https://doi.org/10.24432/C50P49 (CC BY 4.0), the part for tests, in random order. A row is a digit: its 64 pixels,
# from 0 to 16, and the number.
_FILE = Path(__file__).with_name("digits.csv.gz")
_TESTED = 360


@dataclass(frozen=True)
class Digits:
    """1797 handwritten digits, 8 x 8 pixels each, in a fixed split."""

    train_x: np.ndarray
    test_x: np.ndarray
    train_y: np.ndarray
    test_y: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        rows = np.loadtxt(_FILE, delimiter=",", dtype=np.float32)
        train, test = rows[:-_TESTED], rows[-_TESTED:]
        return cls(train[:, :-1] / 16, test[:, :-1] / 16, train[:, -1], test[:, -1])


@dataclass(frozen=True)
class Run:
    """The result of one training."""

    title: str
    accuracy: float
    losses: np.ndarray
    seconds: float


def batches(n: int, epochs: int) -> Iterator[list[np.ndarray]]:
    """Yield the batches of each epoch, as indices into `n` digits."""
    rng = np.random.default_rng(SEED)
    for _ in range(epochs):
        order = rng.permutation(n)
        yield [order[i : i + BATCH] for i in range(0, n - BATCH + 1, BATCH)]


def first_weights() -> list[np.ndarray]:
    """Return the initial weights of the layers, of shape (outputs, inputs); the biases start at zero."""
    rng = np.random.default_rng(SEED)
    return [rng.normal(0, np.sqrt(2 / n_in), (n_out, n_in)).astype(np.float32) for n_in, n_out in pairwise(WIDTHS)]
