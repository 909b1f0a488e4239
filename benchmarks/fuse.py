"""Compare ``f(x * a + b)`` in a compiled program: with our op as a call, fused (``fuse=True``), and as a formula.

Arithmetic takes most of the time of ``mish``, and memory most of that of ``hard_swish``.

Run it with ``python benchmarks/fuse.py torch`` or ``jax``. Times are medians of interleaved rounds; only ratios are
meaningful.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import importlib
import io
import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.frameworks import timing
from pykernels.tools import cli

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h, at their largest values.
_MALLOC = {-1: 2**30, -3: 2**25}
#: Each function in terms of NumPy's names, which the frameworks have, too.
_FORMULAS = {"mish": "x * np.tanh(np.log1p(np.exp(x)))", "hard_swish": "x * np.clip(x + 3, 0, 6) / 6"}
_PASSES = ("forward", "forward + backward")

Call = Callable[..., Any]


class Torch:
    """Programs of `torch.compile`."""

    def __init__(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self._torch = self.numpy = torch
        self.array = torch.from_numpy

    @property
    def operators(self) -> Any:
        return self._torch.ops.pykernels

    def program(self, function: Call, row: str) -> Call:
        """Return the compiled function, or the function that computes it and its gradient for ``x``."""

        def chain(x: Any, a: Any, b: Any) -> Any:
            return function(x * a + b)

        # PyTorch keeps few versions of a function.
        chain.__code__ = chain.__code__.replace(co_name=f"chain_{id(chain)}")
        compiled = self._torch.compile(chain, fullgraph=True)

        def gradient(x: Any, a: Any, b: Any) -> Any:
            x = x.detach().requires_grad_()
            y = compiled(x, a, b)
            return self._torch.autograd.grad(y, x, self._torch.ones_like(y))[0]

        return compiled if row == _PASSES[0] else gradient


class Jax:
    """Programs of `jax.jit`."""

    def __init__(self, threads: int) -> None:
        os.environ["NPROC"] = str(threads)  # JAX reads it when it starts
        import jax

        import pykernels.jax

        self._jax, self.numpy = jax, jax.numpy
        self.operators: Any = pykernels.jax
        self.array = jax.numpy.asarray

    def program(self, function: Call, row: str) -> Call:
        """Return the compiled function, or the function that computes it and its gradient for ``x``."""

        def chain(x: Any, a: Any, b: Any) -> Any:
            return function(x * a + b)

        def gradient(x: Any, a: Any, b: Any) -> Any:
            y, pull = self._jax.vjp(lambda x: chain(x, a, b), x)
            return pull(self.numpy.ones_like(y))[0], y

        compiled = self._jax.jit(chain if row == _PASSES[0] else gradient)
        return lambda *arrays: self._jax.tree.leaves(self._jax.block_until_ready(compiled(*arrays)))[0]


def functions(folder: Path, name: str, framework: Torch | Jax) -> dict[str, Call]:
    """Return a function as it is called in programs, by the way that it runs, the framework's own formula first."""
    found: dict[str, Call] = {"formula": eval(f"lambda x: {_FORMULAS[name]}", {"np": framework.numpy})}
    for way in ("call", "fused"):
        op = f"{name}_{way}"
        (folder / f"{op}.py").write_text(f"import numpy as np\n\n\ndef {op}(x):\n    return {_FORMULAS[name]}\n")
        with contextlib.redirect_stdout(io.StringIO()):
            if cli.main(["new", op, "--from", str(folder / f"{op}.py"), "--path", str(folder)]):
                raise SystemExit("the op cannot be made")
        pykernels.load_ops(folder / op, fuse=way == "fused")
        found[way] = getattr(framework.operators, op)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=("torch", "jax"), help="whose compiler makes the programs")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median counts (15)")
    parser.add_argument("--threads", type=int, default=1, help="number of threads (1)")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e6], help="numbers of elements (1e6)")
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    framework = {"torch": Torch, "jax": Jax}[options.framework](options.threads)
    version = importlib.import_module(options.framework).__version__
    # Otherwise it is a matter of luck which call returns its memory to the system and requests it again every time.
    for parameter, value in _MALLOC.items():
        ctypes.CDLL(None).mallopt(parameter, value)
    title = f"f(x * a + b), {options.framework} {version}, float32, threads: {options.threads}"
    table = Table(title=f"{title}, median of {options.rounds}")
    columns = ("formula, us", "call, us", "fused, us", "fused ÷ call", "fused ÷ formula")
    for column in ("f", "", "elements", *columns):
        table.add_column(column, justify="right" if column in columns else "left")
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for name in _FORMULAS:
            ways = functions(Path(folder), name, framework)
            for row, size in itertools.product(_PASSES, map(int, options.sizes)):
                shapes = ((size // 100, 100), (100,), (100,))
                arrays = [framework.array(rng.normal(size=shape).astype(np.float32)) for shape in shapes]
                programs = {way: framework.program(function, row) for way, function in ways.items()}
                runs = {way: functools.partial(program, *arrays) for way, program in programs.items()}
                for run in runs.values():
                    np.testing.assert_allclose(run(), runs["formula"](), rtol=1e-4, atol=1e-5)
                timers = {way: timing.time_python(run) for way, run in runs.items()}
                times = timing.medians(timers, options.rounds)
                cells = [f"{seconds * 1e6:,.0f}" for seconds in times.values()]
                ratios = [f"{times['fused'] / times[each]:.2f}" for each in ("call", "formula")]
                table.add_row(name, row, f"{size:,}", *cells, *ratios)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
