"""The digits, batches and initial weights that all runs of ``digits.py`` share, and the result of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

BATCH = 64
LEARNING_RATE = 0.03
MOMENTUM = 0.9
WIDTHS = (64, 128, 64, 10)
#: The seed of the split, the initial weights and the batches.
SEED = 4


@dataclass(frozen=True)
class Digits:
    """scikit-learn's 1797 handwritten digits, 8 x 8 pixels each, in a fixed split."""

    train_x: np.ndarray
    test_x: np.ndarray
    train_y: np.ndarray
    test_y: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        x, y = load_digits(return_X_y=True)
        x = (x / 16).astype(np.float32)
        return cls(*train_test_split(x, y.astype(np.float32), test_size=0.2, stratify=y, random_state=SEED))


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
