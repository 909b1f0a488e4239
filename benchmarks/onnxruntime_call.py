"""Compare the time of a node in ONNX Runtime: our op and the built-in one of the same kind.

A small node is timed in a chain of a thousand, so that the call of the session does not count; a large node is timed
alone. If onnxruntime-extensions is installed, a custom op in Python is timed, too.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import pykernels
import pykernels.onnx

CHAIN = 1000
#: The built-in op, our op, and its attributes.
PAIRS = (("LeakyRelu", "leaky_relu", {"alpha": 0.1}), ("Sigmoid", "sigmoid", {}))
OPSETS = [
    helper.make_opsetid(domain, version) for domain, version in (("", 17), ("pykernels", 1), ("ai.onnx.contrib", 1))
]


def model(op: str, domain: str, n: int, **attributes: Any) -> bytes:
    nodes = [helper.make_node(op, [f"x{i}"], [f"x{i + 1}"], domain=domain, **attributes) for i in range(n)]
    values = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, ["n"]) for i in (0, n)]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:])
    made: bytes = helper.make_model(graph, opset_imports=OPSETS, ir_version=8).SerializeToString()
    return made


def runner(op: str, domain: str, n: int, x: np.ndarray, library: str = "", **attributes: Any) -> Callable[[], Any]:
    """Runs a chain of `n` nodes on `x`, into existing memory for the result."""
    options = pykernels.onnx.session_options(op) if domain == "pykernels" else onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if library:
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model(op, domain, n, **attributes), options)
    # OrtValues do not keep their arrays alive.
    arrays = (x, np.empty_like(x))
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in arrays]
    binding = session.io_binding()
    binding.bind_ortvalue_input("x0", values[0])
    binding.bind_ortvalue_output(f"x{n}", values[1])

    def run(_kept: Any = (arrays, values)) -> None:
        session.run_with_iobinding(binding)

    return run


def seconds(run: Callable[[], Any], least: float) -> float:
    """Return the time of one call, measured for at least so many seconds."""
    n, taken = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(n):
            run()
        taken = time.perf_counter() - start
        if taken >= least:
            return taken / n
        n *= 2


def compare(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median of each over interleaved rounds."""
    for run in runs.values():
        seconds(run, 0.05)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            taken[name].append(seconds(run, 0.05))
    return {name: statistics.median(each) for name, each in taken.items()}


def extension(x: np.ndarray) -> Callable[[], Any] | None:
    """A leaky ReLU in Python, as a custom op of onnxruntime-extensions."""
    if importlib.util.find_spec("onnxruntime_extensions") is None:
        return None
    from onnxruntime_extensions import PyOp, get_library_path, onnx_op

    @onnx_op(op_type="PyLeakyRelu", inputs=[PyOp.dt_float], outputs=[PyOp.dt_float], attrs={"alpha": PyOp.dt_float})
    def leaky_relu(x: np.ndarray, **attributes: float) -> np.ndarray:
        return np.where(x > 0, x, np.float32(attributes["alpha"]) * x)

    return runner("PyLeakyRelu", "ai.onnx.contrib", 1, x, library=get_library_path(), alpha=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    pykernels.load_ops()
    if importlib.util.find_spec("onnxruntime_extensions") is None:
        print("custom ops in Python are left out; they need: pip install onnxruntime-extensions")
    print(
        f"ONNX Runtime {onnxruntime.__version__}, {len(os.sched_getaffinity(0))} processors; medians of {rounds} rounds"
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=4).astype(np.float32)
    for built_in, ours, attributes in PAIRS:
        runs = {}
        for name, op, domain in (("built-in", built_in, ""), ("ours", ours, "pykernels")):
            for n in (1, CHAIN + 1):
                runs[f"{name} {n}"] = runner(op, domain, n, x, **attributes)
        taken = compare(runs, rounds)
        each = {name: (taken[f"{name} {CHAIN + 1}"] - taken[f"{name} 1"]) / CHAIN for name in ("built-in", "ours")}
        report(ours, "4 elements, a node", each, 1e6, "us")
    for size in (10**6, 10**7):
        x = rng.normal(size=size).astype(np.float32)
        for built_in, ours, attributes in PAIRS:
            runs = {
                "built-in": runner(built_in, "", 1, x, **attributes),
                "ours": runner(ours, "pykernels", 1, x, **attributes),
            }
            python = extension(x) if ours == "leaky_relu" and size == 10**6 else None
            if python:
                runs["Python"] = python
            report(ours, f"{size:.0e} elements", compare(runs, rounds), 1e3, "ms")


def report(op: str, what: str, taken: dict[str, float], scale: float, unit: str) -> None:
    times = ", ".join(f"{name} {value * scale:.3f} {unit}" for name, value in taken.items())
    ratio = f"{taken['ours'] / taken['built-in']:.2f} of built-in"
    if "Python" in taken:
        ratio += f", {taken['Python'] / taken['ours']:.0f} times as fast as Python"
    print(f"{op:<11} {what:<20} {times}: {ratio}")


if __name__ == "__main__":
    main()
