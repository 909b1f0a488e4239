"""The shipped ops under PyTorch's checks for operators, its compiler and its exporter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo.testing
import torch.fx.experimental._config
from cases import CASES, Case, outputs
from process import program
from shipped import ONE_EACH, dtype_of, function_of, tensors_of, variables, weighted_sum

import pykernels


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_opcheck(ops: Any, case: Case) -> None:
    operator = getattr(ops, case.op).default
    torch.library.opcheck(operator, tuple(tensors_of(case)), dict(case.attributes))


@pytest.mark.thorough
@pytest.mark.parametrize("case", [case for case in ONE_EACH if case.variables], ids=str)
def test_opcheck_of_the_backward_op(ops: Any, case: Case) -> None:
    """Its inputs are whatever the gradient gives it."""
    given = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.name().endswith("_backward"):
                given.append((func, [a.detach() if isinstance(a, torch.Tensor) else a for a in args], kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Watch():
        weighted_sum(function_of(ops, case)(*tensors_of(case))).backward()
    ((operator, args, kwargs),) = given
    torch.library.opcheck(operator, tuple(args), kwargs)


def longer(case: Case, by: int) -> list[torch.Tensor]:
    """The inputs of a case, with the first axis of those that share its length made longer."""
    length = case.shapes[0][0]
    tensors = tensors_of(case, grad=False)
    batched = [0] if case.op in ("dense", "roi_align", "embedding") else range(len(tensors))
    for at in batched:
        if tensors[at].ndim and tensors[at].shape[0] == length and (case.op != "layer_norm" or at == 0):
            tensors[at] = torch.cat([tensors[at]] + [tensors[at][:1]] * by)
    for which in case.variables:
        tensors[which].requires_grad_()
    return tensors


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
@torch.fx.experimental._config.patch(use_duck_shape=False)  # or sizes that happen to be equal at first must stay so
def test_compiles_once_for_all_sizes(ops: Any, case: Case) -> None:
    run = function_of(ops, case)
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    compilations = set()
    for by in (1, 2, 5):
        plain = longer(case, by)
        traced = [x.detach().clone().requires_grad_(x.requires_grad) for x in plain]
        expected, results = run(*plain), compiled(*traced)
        torch.testing.assert_close(results, expected, rtol=0, atol=0)
        if case.variables:
            weighted_sum(expected).backward()
            weighted_sum(results).backward()
            torch.testing.assert_close([x.grad for x in variables(traced)], [x.grad for x in variables(plain)])
        # The first size may take several: PyTorch begins anew when it finds out what an attribute is.
        compilations.add(counter.frame_count)
    assert len(compilations) == 1


#: Every second of the columns, less the last: a size that is divided, as of a convolution or of pooling.
STRIDED_DEFINITION = """
import pykernels


class Strided(pykernels.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=True)

    def infer_shape(self, in_shape):
        rows, columns = in_shape[0]
        return in_shape, [[rows, (columns - 3) // 2 + 1]], []
"""
STRIDED_KERNEL = """
def forward(args, outs):
    (x,), (y,) = args, outs
    for row in range(y.shape[0]):
        for column in range(y.shape[1]):
            y[row, column] = x[row, 2 * column + 1]


def backward(args, outs):
    dy, (dx,) = args[0], outs
    dx[:] = 0
    for row in range(dy.shape[0]):
        for column in range(dy.shape[1]):
            dx[row, 2 * column + 1] = dy[row, column]
"""


@pytest.mark.thorough
def test_compiles_once_for_all_sizes_where_one_is_divided(
    load: Callable[..., str], enter: Callable[[str], Any]
) -> None:
    operator = enter(load(STRIDED_KERNEL, definition=STRIDED_DEFINITION))

    def run(x: torch.Tensor) -> torch.Tensor:
        return operator(x * 2) + 1

    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    for columns in (9, 10, 17, 40):
        x = torch.randn(4, columns, requires_grad=True)
        y = compiled(x)
        torch.testing.assert_close(y, x[:, 1:-1:2] * 2 + 1)
        y.sum().backward()
        assert x.grad[0].tolist() == [2.0 * (at % 2) for at in range(columns - 1)] + [0.0]
    assert counter.frame_count == 1

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return run(x)

    shapes = {"x": {1: torch.export.Dim("columns", min=5)}}
    program = torch.export.export(Module(), (torch.ones(4, 9),), dynamic_shapes=shapes)
    assert program.module()(torch.ones(4, 22)).shape == (4, 10)


@pytest.mark.thorough
def test_compiles_with_inductor(ops: Any) -> None:
    def network(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return ops.sigmoid(ops.dense(torch.relu(x) * 2, weight)).sum() + ops.softmax(x).std()

    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(network, fullgraph=True, dynamic=True, backend=counter)
    for rows in (3, 5, 9):
        xs = [torch.randn(rows, 4, generator=torch.Generator().manual_seed(rows)).requires_grad_() for _ in range(2)]
        weight = torch.ones(2, 4)
        results = [function(x, weight) for function, x in zip((network, compiled), xs)]
        torch.testing.assert_close(results[1], results[0])
        for y in results:
            y.backward()
        torch.testing.assert_close(xs[1].grad, xs[0].grad)
    assert counter.frame_count == 1


def test_what_a_definition_refuses_is_reported_while_compiling(ops: Any) -> None:
    compiled = torch.compile(lambda x: ops.softmax(x, axis=5), fullgraph=True, backend="aot_eager")
    with pytest.raises(RuntimeError, match=r"softmax_forward.*axis"):
        compiled(torch.randn(3, 4))


def test_unsupported_dtypes_are_reported_while_compiling(ops: Any) -> None:
    compiled = torch.compile(ops.sigmoid, fullgraph=True, backend="aot_eager")
    with pytest.raises(RuntimeError, match="x must be floating point, but is complex64"):
        compiled(torch.randn(3, dtype=torch.complex64))


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_exports_with_any_size(ops: Any, case: Case, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        # A list, since PyTorch 2.9 forgets what `*tensors` are called when they share a size.
        def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
            return function_of(ops, case)(*tensors)

    example = [x.detach() for x in longer(case, 1)]
    varies = [x.shape != shape for x, shape in zip(example, case.shapes)]
    size = torch.export.Dim("n", min=2)
    program = torch.export.export(
        Module(), (example,), dynamic_shapes=([{0: size} if each else {} for each in varies],)
    )
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    for by in (1, 4):
        tensors = [x.detach() for x in longer(case, by)]
        torch.testing.assert_close(list(loaded(tensors)), Module()(tensors), rtol=0, atol=0)


@pytest.mark.thorough
def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    pykernels.load_ops()

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.pykernels.leaky_relu(x, alpha=0.5)

    torch.export.save(torch.export.export(Module(), (torch.ones(3),)), tmp_path / "program.pt2")
    done = program(
        """
        import pykernels, torch
        pykernels.load_ops()
        print(torch.export.load("program.pt2").module()(torch.tensor([-2.0, 0.0, 4.0])).tolist())
        """,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "[-1.0, 0.0, 4.0]"


def test_sizes_of_which_nothing_is_known(ops: Any) -> None:
    """As of nonzero(), whose result has as many rows as the numbers say."""

    def positive(x: torch.Tensor) -> torch.Tensor:
        return ops.sigmoid(x[x > 0])

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(positive, fullgraph=True, backend="aot_eager")
        for x in (torch.randn(20), torch.randn(7)):
            torch.testing.assert_close(compiled(x), positive(x))


def test_the_same_name_for_the_same_outputs(ops: Any) -> None:
    """Torch's own partial application, which users write to fix attributes."""
    run = functools.partial(ops.leaky_relu, alpha=0.5)
    y = torch.compile(run, fullgraph=True, backend="aot_eager")(torch.tensor([-2.0]))
    assert outputs(y)[0].tolist() == [-1.0] and dtype_of(CASES[0]) == "float64"


@pytest.mark.thorough
def test_a_package_of_aotinductor_runs_after_load_ops(tmp_path: Path) -> None:
    made = """
import torch, pykernels
pykernels.load_ops()

class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.ops.pykernels.leaky_relu(x, alpha=0.5) + 1

program = torch.export.export(Layer(), (torch.ones(2, 3),))
torch._inductor.aoti_compile_and_package(program, package_path="layer.pt2")
"""
    loaded = """
import torch, pykernels
pykernels.load_ops()
print(torch._inductor.aoti_load_package("layer.pt2")(torch.full((2, 3), -2.0)).unique().tolist())
"""
    program(made, cwd=tmp_path)
    assert program(loaded, cwd=tmp_path).stdout == "[0.0]\n"
