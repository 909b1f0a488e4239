"""Compare the time of a call on NumPy's arrays: ours, prepared and described each time, and NumPy's own functions.

Run it with ``python benchmarks/numpy_call.py``. Times are medians of interleaved rounds, because machines are noisy;
only ratios are meaningful.
"""

from __future__ import annotations

import argparse
import os
import timeit
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.frameworks import timing


def _described(x: np.ndarray) -> np.ndarray:
    """Describe a call as OneFlow's guide does."""
    call = pykernels.user_op_builder("tanh").Op("tanh_forward").Input("x", [x]).Output("y").Build()
    result: np.ndarray = call.InferAndTryRun().SoleOutputBlob()
    return result


def main() -> None:
    """Print the times, and their ratios to that of `np.tanh`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, nargs="+", default=[4, 1000, 10**6])
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    ops = pykernels.load_ops()
    tanh, leaky_relu = ops["tanh"].api.tanh, ops["leaky_relu"].api.leaky_relu
    mask = np.random.default_rng(0).random(max(options.elements)) < 0.5
    y = np.zeros(max(options.elements), np.float32)
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "np.tanh": np.tanh,
        "np.where(x > 0, x, 0.1 * x)": lambda x: np.where(x > 0, x, 0.1 * x),
        "tanh": tanh,
        "tanh(x, out=y)": lambda x: tanh(x, out=y[: len(x)]),
        "tanh(x, out=y, where=mask)": lambda x: tanh(x, out=y[: len(x)], where=mask[: len(x)]),
        "leaky_relu(x, 0.1)": lambda x: leaky_relu(x, 0.1),
        "tanh, described in each call": _described,
    }
    table = Table("call", *(f"{elements:,} elements" for elements in options.elements))
    rows: dict[str, list[str]] = {name: [] for name in functions}
    for elements in options.elements:
        x = np.random.default_rng(0).standard_normal(elements).astype(np.float32)
        timers = {name: _timer(function, x) for name, function in functions.items()}
        times = timing.medians(timers, options.rounds)
        for name, seconds in times.items():
            rows[name].append(f"{1e6 * seconds:.2f} us, {seconds / times['np.tanh']:.2f}")
    for name, cells in rows.items():
        table.add_row(name, *cells)
    Console().print(table)


def _timer(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> timing.Timer:
    function(x)
    return lambda calls: timeit.timeit(lambda: function(x), number=calls)


if __name__ == "__main__":
    main()
