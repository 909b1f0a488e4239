"""Ops that are loaded with ``fuse=True``: PyTorch's compiler sees through them, also in gradients and packages."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo.testing
from folders import write_op
from process import program
from torch._inductor.utils import run_and_get_code

import pykernels
from pykernels.base import paths
from pykernels.base.errors import PykernelsWarning

DEFINITION = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def __init__(self{attributes}):
            super().__init__(need_top_grad=True)

        def list_arguments(self):
            return {arguments}

        def list_auxiliary_states(self):
            return {states}

        def list_outputs(self):
            return {outputs}

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]] * len(self.list_outputs()), [in_shape[0]] * len(self.list_auxiliary_states())
"""
MISH = """
    import numpy as np


    def forward(args):
        (x,) = args
        return x * np.tanh(np.log1p(np.exp(x)))


    def backward(args):
        dy, x = args[:2]
        t, s = np.tanh(np.log1p(np.exp(x))), 1 / (1 + np.exp(-x))
        return dy * (t + x * s * (1 - t * t))
"""


BACKWARD = """
def backward(args):
    return args[0]
"""


def definition(*arguments: str, outputs: tuple[str, ...] = ("y",), states: tuple[str, ...] = (), attributes: str = ""):
    return DEFINITION.format(arguments=arguments, outputs=outputs, states=states, attributes=attributes)


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    torch._dynamo.reset()


@pytest.fixture
def fuse(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Loads a kernel with ``fuse=True`` and gives its operator."""
    names: list[str] = []

    def load_one(kernel: str, given: str = definition("x")) -> Any:
        names.append(f"fused_{tmp_path.name}_{len(names)}")
        gradient = "" if "def backward" in kernel else BACKWARD
        pykernels.load_ops(write_op(tmp_path, names[-1], textwrap.dedent(kernel) + gradient, given), fuse=True)
        return getattr(torch.ops.pykernels, names[-1])

    yield load_one
    pykernels.unload_ops(*names)


def calls_of_ours(function: Callable[..., Any], *tensors: torch.Tensor) -> list[str]:
    """The ops of ours in the graphs of a compiled function and of its gradient."""
    found: list[str] = []

    def look(graph: torch.fx.GraphModule, _: Any) -> Any:
        found.extend(str(node.target) for node in graph.graph.nodes if "pykernels" in str(node.target))
        return graph.forward

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=look, bw_compiler=look)
    results = torch.compile(function, fullgraph=True, backend=backend)(*tensors)
    expected = function(*tensors)
    torch.testing.assert_close(results, expected)
    if any(tensor.requires_grad for tensor in tensors):
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        pairs = [
            torch.autograd.grad([y.sum() for y in each if y.requires_grad], wanted)
            for each in ((y,) if isinstance(y, torch.Tensor) else y for y in (results, expected))
        ]
        torch.testing.assert_close(*pairs)
    return found


@pytest.mark.thorough
def test_one_op_next_to_others_is_one_kernel_for_all_sizes(fuse: Callable[..., Any]) -> None:
    mish = fuse(MISH)

    def layer(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return mish(x * a + 1) * 2

    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter)

    def gradients(function: Callable[..., Any], rows: int) -> Any:
        x, a = torch.randn(rows, 6, requires_grad=True), torch.randn(6, requires_grad=True)
        y = function(x, a)
        return [y, *torch.autograd.grad(y.sum(), (x, a))]

    # It forgets what was compiled before.
    _, codes = run_and_get_code(gradients, compiled, 8)
    assert codes[0].count("async_compile.cpp_pybinding") == 1
    assert not any("pykernels" in code for code in codes)
    for rows in (8, 5, 100):
        torch.manual_seed(rows)
        results = gradients(compiled, rows)
        torch.manual_seed(rows)
        torch.testing.assert_close(results, gradients(layer, rows))
    assert counter.frame_count == 1


def test_other_calls_run_the_compiled_kernel(fuse: Callable[..., Any]) -> None:
    """And exported programs keep the op, which has a meaning of its own."""
    mish = fuse(MISH)
    x = torch.randn(5)
    torch.testing.assert_close(mish(x), torch.nn.functional.mish(x))

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return mish(x)

    exported = torch.export.export(Module(), (x,))
    assert "pykernels" in str(exported.graph)


def test_derivatives_of_derivatives() -> None:
    pykernels.load_ops(paths.OPS / "sigmoid", fuse=True)
    sigmoid = torch.ops.pykernels.sigmoid
    torch.func.jvp(sigmoid, (torch.ones(3),), (torch.ones(3),))

    def second(x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda x: torch.func.grad(lambda x: sigmoid(x).sum())(x).sum())(x)

    def along(x: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(sigmoid, (x,), (x,))[1]

    assert calls_of_ours(second, torch.randn(4)) == calls_of_ours(along, torch.randn(4)) == []
    pykernels.load_ops(paths.OPS / "sigmoid", fuse=False)
    torch._dynamo.reset()
    assert calls_of_ours(second, torch.randn(4))


def test_kernels_that_write_into_outs_and_have_attributes_constants_and_helpers(fuse: Callable[..., Any]) -> None:
    kernel = """
        import numpy as np
        from numpy import float32, sqrt

        TABLE, TWO = np.arange(3.0, dtype=np.float32), np.float32(2)


        def helper(x):
            return TABLE * sqrt(np.abs(x)) + TWO


        def forward(args, outs, *, by):
            (x,), (y, z) = args, outs
            np.multiply(helper(x), by, out=y)
            z[...] = float32(1) * x.astype(float32)
            z[0] += 1
    """
    op = fuse(kernel, definition("x", outputs=("y", "z"), attributes=", by: int = 7"))
    assert calls_of_ours(lambda x: op(x + 1, by=3), torch.randn(4, 3)) == []


def test_states_and_results_that_are_inputs(fuse: Callable[..., Any]) -> None:
    kernel = """
        def forward(args):
            x, seen = args
            seen += x
            return x, x.reshape(-1).reshape(x.shape), seen * 2


        def backward(args):
            dy, dz, dw = args[:3]
            return dy + dz
    """
    op = fuse(kernel, definition("x", outputs=("y", "z", "w"), states=("seen",)))
    seen, expected = torch.ones(3), torch.ones(3)

    def run(x: torch.Tensor, seen: torch.Tensor) -> Any:
        y, z, w = op(x, seen)
        return y.mul(2), z + w.detach(), x * 3

    for state, each in ((seen, torch.compile(run, fullgraph=True, backend="aot_eager")), (expected, run)):
        x = torch.arange(3.0, requires_grad=True)
        results = each(x, state)
        (gradient,) = torch.autograd.grad([y.sum() for y in results], x)
        assert gradient.tolist() == [6, 6, 6]
        assert [y.tolist() for y in results] == [[0, 2, 4], [2, 5, 8], [0, 3, 6]]
    assert seen.tolist() == expected.tolist() == [1, 2, 3]


def test_half_precision_is_computed_in_float32(fuse: Callable[..., Any]) -> None:
    op = fuse("def forward(args):\n    (x,) = args\n    return (x * 3) / 3 - x + 1000 * x - 999 * x\n")
    x = torch.linspace(-8, 8, 101, dtype=torch.bfloat16)
    compiled = torch.compile(op, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), op(x)) and compiled(x).dtype is torch.bfloat16


UNTRACED = {
    "a loop over elements": ("for i in range(x.shape[0]):\n        y[i] = -x[i]", r"_py_kernel\.py:4: a loop over"),
    "what PyTorch lacks": ("y[:] = numpy.interp(x, x, -x)", r"_py_kernel\.py:4: PyTorch cannot trace .*interp"),
    "a choice by value": ("if x[0] < 100:\n        y[:] = -x", r"_py_kernel\.py:4: PyTorch cannot trace the kernel"),
}


@pytest.mark.parametrize("name", UNTRACED)
def test_what_cannot_be_traced_is_called_as_it_is(fuse: Callable[..., Any], name: str) -> None:
    body, message = UNTRACED[name]
    op = fuse(f"import numpy\ndef forward(args, outs):\n    (x,), (y,) = args, outs\n    {body}\n")
    compiled = torch.compile(lambda x: op(x) + 1, fullgraph=True, backend="aot_eager")
    given = rf"op 'fused_\w+' is loaded with fuse=True, but PyTorch's compiler calls it as it is: .*{message}"
    with pytest.warns(PykernelsWarning, match=given) as caught:
        assert compiled(torch.arange(4.0)).tolist() == [1, 0, -1, -2]
        assert compiled(torch.arange(3.0)).tolist() == [1, 0, -1]
    assert len([each for each in caught if each.category is PykernelsWarning]) == 1


def test_a_wrong_shape_is_refused_when_the_kernel_runs(fuse: Callable[..., Any]) -> None:
    op = fuse("def forward(args):\n    return args[0][:1]\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PykernelsWarning)
        with pytest.raises(RuntimeError, match=r"returned shape \(1,\) for output"):
            torch.compile(op, fullgraph=True, backend="aot_eager")(torch.randn(4))


def test_inputs_are_not_written(fuse: Callable[..., Any]) -> None:
    op = fuse("def forward(args):\n    (x,) = args\n    y = x.reshape(-1)\n    y[0] = 1\n    return x * 2\n")
    with pytest.raises(RuntimeError, match=r"_py_kernel.py:1: forward writes to its input 'x'. Inputs belong to the"):
        torch.compile(op, fullgraph=True, backend="aot_eager")(torch.randn(4))


def test_loading_again(tmp_path: Path) -> None:
    kernel = f"def forward(args):\n    return args[0] * {{}}\n{BACKWARD}"
    folder = write_op(tmp_path, "loaded_again", kernel.format(2))
    x = torch.ones(2)

    def is_fused() -> bool:
        torch._dynamo.reset()
        return not calls_of_ours(torch.ops.pykernels.loaded_again, x)

    assert not pykernels.load_ops(folder)["loaded_again"].fuse and not is_fused()
    assert pykernels.load_ops(folder, fuse=True)["loaded_again"].fuse and is_fused()
    assert pykernels.load_ops(folder)["loaded_again"].fuse and is_fused()
    compiled = torch.compile(torch.ops.pykernels.loaded_again, fullgraph=True, backend="aot_eager")
    assert compiled(x).tolist() == [2, 2]
    write_op(tmp_path, "loaded_again", kernel.format(-3))
    pykernels.reload("loaded_again")
    assert compiled(x).tolist() == [2, 2]
    assert is_fused() and compiled(x).tolist() == [-3, -3]
    pykernels.unload_ops("loaded_again")
    assert compiled(x).tolist() == [-3, -3]
    torch._dynamo.reset()
    with pytest.raises((RuntimeError, AttributeError), match="loaded_again_forward.* is not loaded"):
        compiled(x)
    module = pykernels.custom_op_module("loaded_again", tmp_path).py_api().cpp_def().py_kernel()
    module.build_load(fuse=True)
    assert is_fused()
    pykernels.unload_ops("loaded_again")


@pytest.mark.thorough
def test_programs_on_disk_and_packages(tmp_path: Path) -> None:
    """PyTorch finds programs on disk by the names of their ops; a package needs no op if it is fused."""
    run = """
        import pykernels, torch
        pykernels.load_ops("kept", fuse={fuse})
        kept = torch.ops.pykernels.kept
        print(torch.compile(lambda x: kept(x) + 1, fullgraph=True)(torch.ones(2)).tolist())
    """
    package = """
        pykernels.load_ops("kept", fuse=True)

        class Module(torch.nn.Module):
            def forward(self, x):
                return torch.ops.pykernels.kept(x) + 1

        program = torch.export.export(Module(), (torch.ones(2, 3),))
        torch._inductor.aoti_compile_and_package(program, package_path="kept.pt2")
    """
    alone = """
        import torch
        print(torch._inductor.aoti_load_package("kept.pt2")(torch.full((2, 3), -2.0)).unique().tolist())
    """
    disk = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    for factor, fuse, more in ((2, True, ""), (3, True, ""), (4, False, package)):
        write_op(tmp_path, "kept", f"def forward(args):\n    return args[0] * {factor}\n{BACKWARD}")
        done = program(run.format(fuse=fuse) + more, cwd=tmp_path, **disk)
        assert done.stdout == f"[{factor + 1}.0, {factor + 1}.0]\n"
    assert program(alone, cwd=tmp_path, **disk).stdout == "[-7.0]\n"
