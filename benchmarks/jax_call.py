"""Compare programs of ten ops under ``jax.jit``: ours, functions of jax.numpy, and NumPy called by `jax.pure_callback`.

Run it with ``OMP_WAIT_POLICY=passive python benchmarks/jax_call.py``. Times are minima of interleaved rounds, because
machines are noisy; only ratios are meaningful. XLA fuses its own ten operations into one loop; ours are ten calls. Ten
calls of a handler that does nothing show what XLA itself takes for calls.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.base import paths
from pykernels.frameworks.timing import time_python

SIZES = (4, 1_000, 1_000_000)
DEPTH = 5
_NOTHING = """
    #include <xla/ffi/api/ffi.h>

    xla::ffi::Error Nothing(xla::ffi::AnyBuffer, xla::ffi::Result<xla::ffi::AnyBuffer>) { return {}; }

    XLA_FFI_DEFINE_HANDLER_SYMBOL(
        nothing, Nothing, xla::ffi::Ffi::Bind().Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>());
"""
#: How long a round takes, in seconds.
_AT_LEAST = 0.05


def chains() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return the two functions that a program calls in turn, by who provides them."""
    ops = pykernels.load_ops(paths.OPS)

    def called(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: jax.pure_callback(lambda v: function(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return {
        "ours": (ops["sigmoid"].api.sigmoid, ops["tanh"].api.tanh),
        "jnp": (jax.nn.sigmoid, jnp.tanh),
        "callback": (called(lambda x: 1 / (1 + np.exp(-x))), called(np.tanh)),
    }


def nothing() -> Callable[..., Any]:
    """Return a function whose call in a program does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/nothing.so"
        command = ["c++", "-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-isystem", jax.ffi.include_dir()]
        subprocess.run([*command, "-x", "c++", "-", "-o", library], input=_NOTHING, text=True, check=True)
        handler = ctypes.CDLL(library).nothing
    jax.ffi.register_ffi_target("nothing", jax.ffi.pycapsule(handler), platform="cpu")
    return lambda x: jax.ffi.ffi_call("nothing", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def program(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Return the program that calls both in turn."""

    def run(x: Any) -> Any:
        for _ in range(DEPTH):
            x = second(first(x))
        return x

    return run


def minima(programs: dict[str, Callable[..., Any]], x: Any, rounds: int) -> dict[str, float]:
    """Return the shortest time of each program, over rounds that time all of them."""
    timers = {name: time_python(lambda run=run: jax.block_until_ready(run(x))) for name, run in programs.items()}
    calls = {}
    for name, timer in timers.items():
        timer(2)  # compiles
        calls[name] = max(1, int(_AT_LEAST / (timer(3) / 3)))
    times = [{name: timer(calls[name]) / calls[name] for name, timer in timers.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in timers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the minimum counts (15)")
    rounds = parser.parse_args().rounds
    table = Table("program", title=f"jax {jax.__version__}: {2 * DEPTH} ops, float32, minimum of {rounds} rounds")
    for column in ("elements", "ours, us", "÷ jnp", "nothing ÷ jnp", "callback ÷ ours"):
        table.add_column(column, justify="right")
    runs = {name: program(*functions) for name, functions in chains().items()}
    # JAX does not differentiate callbacks.
    gradients = {name: jax.grad(lambda x, run=runs[name]: run(x).sum()) for name in ("ours", "jnp")}
    runs["nothing"] = program(*[nothing()] * 2)
    for what, functions in (("sigmoid, tanh, ...", runs), ("with gradient", gradients)):
        for size in SIZES:
            x = jnp.asarray(np.random.default_rng(0).normal(size=size).astype(np.float32))
            times = minima({name: jax.jit(function) for name, function in functions.items()}, x, rounds)
            ours, jnps = times["ours"], times["jnp"]
            others = [f"{times['nothing'] / jnps:.2f}", f"{times['callback'] / ours:.0f}"] if "nothing" in times else []
            table.add_row(what, f"{size:,}", f"{ours * 1e6:.1f}", f"{ours / jnps:.2f}", *others)
    Console().print(table)


if __name__ == "__main__":
    main()
