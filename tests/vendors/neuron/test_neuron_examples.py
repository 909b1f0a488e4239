"""The examples of Neuron's operators: they run, and what they compute is right."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import process
import pytest
import torch

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

EXAMPLES = process.CHECKOUT / "examples" / "neuron"


def run(script: str) -> str:
    done = process.python("-m", "pykernels", "run", EXAMPLES / script, cwd=EXAMPLES.parent)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_network_learns() -> None:
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", run("two_layer_network/train.py"))]
    assert len(losses) == 5
    assert losses[-1] < losses[0] / 2


@pytest.fixture(scope="module")
def layers() -> Any:
    import pykernels.vendors.neuron  # noqa: F401

    spec = importlib.util.spec_from_file_location("layers", EXAMPLES / "two_layer_network" / "layers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert Path(sys.modules["torch_neuronx"].__file__ or "").parent.name == "neuron"
    return module


def test_gradients_of_the_network_are_those_of_pytorch(layers: Any) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(shape, requires_grad=True) for shape in ((5, 3), (4, 3), (2, 4))]
    x, first, second = inputs
    seed = torch.randn(5, 2)
    y = layers.dense(layers.leaky_relu(layers.dense(x, first), 0.1), second)
    expected = torch.nn.functional.leaky_relu(x @ first.T, 0.1) @ second.T
    torch.testing.assert_close(y, expected)
    found = torch.autograd.grad(y, inputs, seed)
    torch.testing.assert_close(found, torch.autograd.grad(expected, inputs, seed))


def test_a_registered_gradient_passes_opcheck_and_compiles(layers: Any) -> None:
    x = torch.randn(4, 3, requires_grad=True)
    torch.library.opcheck(torch.ops.two_layer.leaky_forward.default, (x, 0.1))
    compiled = torch.compile(layers.leaky_relu, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (4, 7):
        x = torch.randn(rows, 3, requires_grad=True)
        compiled(x, 0.1).sum().backward()
        torch.testing.assert_close(x.grad, torch.where(x > 0, 1.0, 0.1))


def test_a_stream() -> None:
    noisy, smooth = (float(error) for error in re.findall(r": (\d\.\d+) off the curve", run("smoothing/smooth.py")))
    assert smooth < noisy / 2


def test_all_cores() -> None:
    shown = "each of 8 cores clips 1263 elements\nequal to torch.clip: True\n"
    assert run("clip_on_cores/clip.py") == shown


def test_cores_are_limited_to_what_a_device_can() -> None:
    """With the test's kernels, whose library is linked again for several cores and not compiled."""
    shown = process.program(
        """
        import torch
        from neuron_libraries import FOLDER
        from pykernels.vendors.neuron.loading import load

        load("surface", [FOLDER / "kernels.cpp"], [FOLDER / "shapes.cpp"], multicore=True,
             extra_cflags=["-DSTACK_SIZE=20000"])
        print(torch.ops.surface.core_ids(torch.ones(17)).tolist())
        x = torch.ones(4)
        for call in (lambda: torch.ops.surface.mistake(x, 0), lambda: torch.ops.surface.mistake(x, 4),
                     lambda: torch.ops.surface.negate(x)):
            try:
                call()
            except RuntimeError as error:
                print(error)
        """,
        cwd=Path(__file__).parent,
    ).stdout.splitlines()
    assert shown[0] == str([float(core) for core in range(8) for _ in range(2)] + [float("nan")])
    only = "with multicore=True tensors can be accessed through tcm_accessor() only"
    kernels, shapes = (Path(__file__).parent / "sources" / name for name in ("kernels.cpp", "shapes.cpp"))
    assert re.fullmatch(rf"{kernels}:\d+: accessor\(\): {re.escape(only)} \[PK300\]", shown[1])
    assert re.fullmatch(rf"{kernels}:\d+: read_stream_accessor\(\): {re.escape(only)} \[PK300\]", shown[2])
    assert re.fullmatch(
        rf"{shapes}:\d+: operator 'negate': the kernel function is wrong: with multicore=True it must write its output "
        rf"to get_dst_tensor\(\), which it does not ask for \[PK\d+\]",
        shown[3],
    )
