"""Compare ops with derived gradients with PyTorch's and JAX's automatic differentiation of the same functions.

Run it with ``python benchmarks/derived.py``, where PyTorch and JAX are. For each function of ``textbook.py``,
``python -m pykernels new --from`` writes an op, which is called in PyTorch, forward and backward. Its peers run the
function itself: eagerly on PyTorch's tensors, by PyTorch's own version of NumPy's functions, and compiled by `jax.jit`
with `jax.numpy`. All run on one thread, in turn, round after round; medians count.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import tempfile
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import numpy as np
import textbook
import torch
import torch._numpy
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.frameworks import timing
from pykernels.tools import cli

#: The ratios to reach, and the largest difference of gradients, over the largest number in each.
GOALS, EXACT = {"PyTorch": 1.0, "JAX": 1.5}, 1e-5
_SOURCE = Path(textbook.__file__)


def _special(wrap: Callable[[Any], Any], unwrap: Callable[[Any], Any]) -> types.SimpleNamespace:
    """Return the functions of `scipy.special` that the functions use, on PyTorch's arrays."""

    def logsumexp(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        axes = tuple(range(unwrap(x).ndim)) if axis is None else axis
        return wrap(torch.logsumexp(unwrap(x), axes, keepdims))

    return types.SimpleNamespace(erf=lambda x: wrap(torch.erf(unwrap(x))), logsumexp=logsumexp)


def _with(function: types.FunctionType, np_: Any, special: Any) -> Callable[..., Any]:
    """Return the function with other modules in place of NumPy and SciPy."""
    names = {**function.__globals__, "np": np_, "scipy": types.SimpleNamespace(special=special)}
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


class Case:
    """A function, its op, and arrays to call them with."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        function = vars(textbook)[name]
        with contextlib.redirect_stdout(io.StringIO()):
            if cli.main(["new", name, "--from", str(_SOURCE), "--path", str(folder)]):
                raise SystemExit(f"no op is made from {name}")
        pykernels.load_ops(folder / name)
        rng = np.random.default_rng(0)
        self._arrays = [textbook.draw(each, rng) for each in textbook.SAMPLES[name]]
        self._seed = rng.standard_normal(np.shape(function(*self._arrays))).astype(np.float32)
        self._real = [at for at, array in enumerate(self._arrays) if array.dtype.kind == "f"]
        tensors = [torch.from_numpy(array) for array in self._arrays]
        leaves = [tensor.clone().requires_grad_(at in self._real) for at, tensor in enumerate(tensors)]
        eager = _with(function, torch._numpy, _special(torch._numpy.ndarray, lambda x: x.tensor))
        ours = getattr(torch.ops.pykernels, name)
        seed = torch.from_numpy(self._seed)

        def gradients(run: Callable[[], torch.Tensor]) -> Sequence[torch.Tensor]:
            return torch.autograd.grad(run(), [leaves[at] for at in self._real], seed)

        wrapped = [torch._numpy.ndarray(leaf) for leaf in leaves]
        self.calls: dict[str, Callable[[], Any]] = {
            "ours": lambda: gradients(lambda: ours(*leaves)),
            "PyTorch": lambda: gradients(lambda: eager(*wrapped).tensor),
            "JAX": self._jax(_with(function, jax.numpy, jax.scipy.special)),
        }
        self.lines = _lines(function, folder / name)

    def _jax(self, function: Callable[..., Any]) -> Callable[[], Any]:
        def both(arrays: list[Any], seed: Any) -> Any:
            def of_real(*real: Any) -> Any:
                whole = dict(zip(self._real, real))
                return function(*(whole.get(at, array) for at, array in enumerate(arrays)))

            y, pull = jax.vjp(of_real, *(arrays[at] for at in self._real))
            return y, pull(seed)

        compiled, given = jax.jit(both), [jax.numpy.asarray(array) for array in self._arrays]
        seed = jax.numpy.asarray(self._seed)
        return lambda: jax.block_until_ready(compiled(given, seed))[1]

    def differences(self) -> dict[str, float]:
        """Return the largest difference of gradients from each peer's."""
        ours, *others = ((name, [np.asarray(each) for each in call()]) for name, call in self.calls.items())
        return {name: max(map(_difference, ours[1], found)) for name, found in others}


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(np.float64) - b).max() / max(1e-9, float(np.abs(b).max())))


def _lines(function: types.FunctionType, folder: Path) -> tuple[int, int]:
    """Return how many lines the author wrote, and how many the op's files have."""
    written = len(inspect.getsource(function).splitlines())
    files = [path for path in folder.iterdir() if path.suffix in (".py", ".cpp")]
    return written, sum(len(path.read_text().splitlines()) for path in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help="functions of textbook.py (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the median counts (9)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(textbook.SAMPLES):
        parser.error(f"unknown name {', '.join(sorted(unknown))}; the names are {', '.join(textbook.SAMPLES)}")
    torch.set_num_threads(1)
    table = Table("", title=f"forward and backward, float32, one thread, median of {options.rounds}")
    for column in ("lines of the author", "of the op", "ms", "difference", "/ PyTorch", "/ JAX"):
        table.add_column(column, justify="right")
    met = dict.fromkeys(GOALS, 0)
    names = options.names or list(textbook.SAMPLES)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            case = Case(name, Path(folder))
            worst = max(case.differences().values())
            seconds = timing.medians(
                {each: timing.time_python(call) for each, call in case.calls.items()}, options.rounds
            )
            cells = [
                *map(str, case.lines),
                f"{seconds['ours'] * 1e3:.2f}",
                f"{'[red]' if worst > EXACT else ''}{worst:.1g}",
            ]
            for peer, goal in GOALS.items():
                ratio = seconds["ours"] / seconds[peer]
                met[peer] += ratio <= goal
                cells.append(f"{'[red]' if ratio > goal else ''}{ratio:.2f}")
            table.add_row(name, *cells)
    console = Console()
    console.print(table)
    for peer, goal in GOALS.items():
        console.print(f"{met[peer]} of {len(names)} take at most {goal:g} times as long as {peer}")


if __name__ == "__main__":
    main()
