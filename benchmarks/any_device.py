"""Compare ops on a device for which no kernel is compiled with PyTorch's operators and with torch.compile.

Each op is a forward function in NumPy, from which its gradient is derived; on the device it runs through PyTorch's
compiler. The table shows the time of our call and, relative to it, the times of the same formula in PyTorch, called
eagerly and compiled by torch.compile; and the largest difference from plain NumPy in float64, and from PyTorch's
gradient.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pykernels
from pykernels.tools import cli

_KERNELS = {
    "gelu_": "return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))",
    "mish_": "return x * np.tanh(np.log1p(np.exp(x)))",
    "swish_": "return x / (1 + np.exp(-x))",
    "softmax_": "e = np.exp(x - x.max(axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)",
    "rms_norm_": "return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)",
}
_FORMULAS: dict[str, Callable[[Any], Any]] = {
    "gelu_": lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
    "mish_": lambda x: x * torch.tanh(torch.log1p(torch.exp(x))),
    "swish_": lambda x: x / (1 + torch.exp(-x)),
    "softmax_": lambda x: torch.softmax(x, -1),
    "rms_norm_": lambda x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "leaky_relu": lambda x: torch.nn.functional.leaky_relu(x, 0.01),
}
_REPEATS = 15
# Calls that wait for one another only on the device, as in a model.
_IN_A_ROW = 10


def _load(folder: Path) -> None:
    """Write the ops that pykernels does not ship, derive their gradients, and load all."""
    for name, body in _KERNELS.items():
        with contextlib.redirect_stdout(io.StringIO()):
            cli.main(["new", name, "--path", str(folder)])
            definition, kernel = (folder / name / f"{name}{part}" for part in ("_cpp_def.cpp", "_py_kernel.py"))
            text = definition.read_text().replace('    .Attr<double>("scale", 1.0)\n', "")
            definition.write_text(text.replace('"floating[...]"', '"floating[..., n]"'))
            kernel.write_text(f"import numpy as np\n\n\ndef forward(args):\n    (x,) = args\n    {body}\n")
            if cli.main(["derive", str(folder / name)]):
                raise SystemExit(f"no gradient of {name} is derived")
    pykernels.load_ops()
    pykernels.load_ops(folder)


def _median(run: Callable[[], Any], device: str) -> float:
    """Return the median time of a call among others in a row, in microseconds."""
    times = []
    for _ in range(1 + _REPEATS):
        if device == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(_IN_A_ROW):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return 1e6 * statistics.median(times[1:]) / _IN_A_ROW


def _with_gradient(function: Callable[[Any], Any], x: Any, dy: Any) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(function(x), x, dy)


def _ours(name: str, device: str) -> Callable[[Any], Any]:
    operator = getattr(torch.ops.pykernels, name)
    if device != "cpu":
        return lambda x: operator(x)
    from pykernels.frameworks.torch import plugin, tracing

    module = pykernels.list_ops()[name]
    layout = plugin._ops.layout(module, f"{name}_forward")
    kernel = module.kernel(f"{name}_forward")
    return lambda x: tracing.tracer_of(kernel).run(layout, (x,), {})


def _row(name: str, elements: int, device: str) -> str:
    x = torch.randn(elements // 1000, 1000, device=device)
    ours, eager = _ours(name, device), _FORMULAS[name]
    compiled = torch.compile(eager)
    module = pykernels.list_ops()[name]
    keywords = {"alpha": 0.01} if name == "leaky_relu" else {}
    wanted = module.source.functions["forward"].function((x.cpu().numpy().astype(np.float64),), **keywords)
    error = float(np.abs(ours(x).cpu().numpy() - wanted).max())
    times = [_median(lambda function=each: function(x), device) for each in (ours, eager, compiled)]
    cells = [
        name,
        f"{elements:.0e}",
        f"{times[0]:.0f}",
        f"{times[1] / times[0]:.2f}",
        f"{times[2] / times[0]:.2f}",
        f"{error:.1e}",
    ]
    if device != "cpu":
        given, dy = x.clone().requires_grad_(), torch.randn_like(x)
        difference = _with_gradient(ours, given, dy)()[0] - _with_gradient(eager, given, dy)()[0]
        both = [_median(_with_gradient(each, given, dy), device) for each in (ours, eager, compiled)]
        cells += [
            f"{both[0]:.0f}",
            f"{both[1] / both[0]:.2f}",
            f"{both[2] / both[0]:.2f}",
            f"{float(difference.abs().max()):.1e}",
        ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print one row for each op and number of elements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--elements", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    options = parser.parse_args()
    print(torch.cuda.get_device_name() if options.device == "cuda" else options.device, torch.__version__, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        _load(Path(folder))
        forward, both = (
            ("us", "eager ÷ ours", "compiled ÷ ours", "error"),
            ("with gradient, us", "eager", "compiled", "error"),
        )
        columns = ["op", "elements", *forward, *(both if options.device != "cpu" else ())]
        print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
        for name in _FORMULAS:
            for elements in options.elements:
                try:
                    print(_row(name, elements, options.device), flush=True)
                except Exception:
                    print(name, elements, *traceback.format_exc().splitlines()[-4:], sep="\n", flush=True)


if __name__ == "__main__":
    main()
