"""Neuron's custom C++ operators: arguments, accessors, cores, shapes, gradients and compilation."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch
from neuron_libraries import line_of, surface

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def ops() -> Any:
    return surface()


X = torch.arange(6.0).reshape(2, 3)
Y = torch.ones(2, 3)


def test_arguments_of_every_type(ops: Any, capfd: pytest.CaptureFixture[str]) -> None:
    out = ops.blend(X, Y, 0.5, 0.25, 2)
    torch.testing.assert_close(out, X + Y + 0.25)
    assert capfd.readouterr().out == "blend of 2 x 3\n"
    torch.testing.assert_close(ops.blend(X.t(), Y.t(), 1, 0.0, 1), X.t())
    assert str(ops.blend.default._schema) == (
        "surface::blend(Tensor _0, Tensor _1, Scalar _2, float _3, int _4) -> Tensor"
    )


def test_streams(ops: Any) -> None:
    joined = ops.join(torch.tensor([1, 2, 3], dtype=torch.int32), torch.tensor([[4], [5]], dtype=torch.int32))
    assert (joined.dtype, joined.tolist()) == (torch.int32, [1, 2, 3, 0, 0, 4, 5])


def test_what_a_kernel_returns_is_no_input(ops: Any) -> None:
    x = torch.ones(3)
    y = ops.same(x)
    y[0] = 5
    assert (x.tolist(), y.tolist()) == ([1, 1, 1], [5, 1, 1])


def test_the_memory_of_a_core_is_limited(ops: Any) -> None:
    assert ops.tcm_room(torch.ones(3)).tolist() == [1, 0, 1, 0]


def test_one_core(ops: Any) -> None:
    assert ops.core_ids(torch.ones(8)).tolist() == [0] * 8


MISTAKES = {
    0: "index 4 is out of bounds for a dimension of 4",
    1: "index -1 is out of bounds for a dimension of 8",
    2: "accessor() of Double, but the tensor is of Float",
    3: "accessor() of 2 dimensions, but the tensor has 1, its sizes are [4]",
    4: "read() past the end of the tensor, which has 4 elements",
    5: "write() after close()",
    6: "read_stream_accessor() of Int, but the tensor is of Float",
    7: "a stream accessor that reads is opened while one that writes the same tensor is open: close() that one first",
    8: "tcm_to_tensor() of 4 elements from 5 on is out of bounds for a tensor of 8",
    9: "tensor_to_tcm() of 5 elements, but the buffer has room for 4",
    10: "tcm_to_tensor(): the buffer is not memory that tcm_malloc() gave, or it has been freed",
    11: "tcm_free() of memory that tcm_malloc() did not give, or that has been freed",
    12: "something was written behind the end of this buffer of 16 bytes",
    14: "tcm_to_tensor() of Int, but the tensor is of Float",
    16: "tcm_to_tensor() of 4 elements from 18446744073709551615 on is out of bounds for a tensor of 8",
    21: "assert(x.sizes() == out.sizes()) failed",
}


@pytest.mark.parametrize("which", MISTAKES)
def test_a_mistake_in_a_kernel_is_reported_with_its_line(ops: Any, which: int) -> None:
    with pytest.raises(RuntimeError, match=rf"^{re.escape(line_of('kernels.cpp', f'// mistake {which}'))}") as error:
        ops.mistake(torch.ones(4), which)
    assert str(error.value).endswith(f": {MISTAKES[which]} [PK300]")


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (17, "the kernel function is wrong: it returns Float [3], but the shape function says Float [8]"),
        (18, "the kernel function is wrong: it returns Double [8], but the shape function says Float [8]"),
        (19, "the kernel function is wrong: it returns no tensor"),
        (20, "the kernel says no"),
    ],
)
def test_what_a_kernel_returns_is_checked(ops: Any, which: int, message: str) -> None:
    with pytest.raises(RuntimeError) as error:
        ops.mistake(torch.ones(4), which)
    where = line_of("shapes.cpp", '&eight, "mistake");') + "operator 'mistake': "
    # The last is the kernel's own.
    assert str(error.value).splitlines()[0] == (message if which == 20 else f"{where}{message} [PK300]")


def test_memory_that_is_not_freed_is_reported_once(ops: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            ops.mistake(torch.ones(4), 13)
    # It is a warning of Python's from PyTorch 2.15 on, and a line on standard error before.
    message = "\n".join([capfd.readouterr().err, *(str(each.message) for each in caught)])
    where = line_of("kernels.cpp", "// mistake 13")
    assert message.count(f"{where}32 bytes of tcm_malloc() are not freed") == 1


def test_streams_may_meet_where_the_kernel_allows_it(ops: Any) -> None:
    assert ops.mistake(torch.ones(4), 15).tolist() == [7, 7, 0, 0, 0, 0, 0, 0]


def test_wrong_calls_are_refused(ops: Any) -> None:
    with pytest.raises(RuntimeError, match="blend wants tensors of one shape"):
        ops.blend(X, Y[:1], 0.5, 0.0, 1)
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'int' for argument '_1'"):
        ops.mistake(X, 0.5)


def test_forward_mode_derivatives_are_refused_but_for_a_functions_own(ops: Any) -> None:
    where = re.escape(line_of("shapes.cpp", 'm.def("same", same, "same");'))
    message = f"{where}operator 'same' has no forward-mode derivative"
    with pytest.raises(RuntimeError, match=message), torch.autograd.forward_ad.dual_level():
        ops.same(torch.autograd.forward_ad.make_dual(X, Y))
    with pytest.raises(RuntimeError, match=message):
        torch.func.jvp(ops.same, (X,), (Y,))
    with pytest.raises(RuntimeError, match=message):
        torch.func.jacfwd(ops.same)(X)

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return ops.same(x)

        @staticmethod
        def jvp(ctx: Any, dx: torch.Tensor) -> torch.Tensor:
            return 3 * dx

    with torch.autograd.forward_ad.dual_level():
        y = torch.autograd.forward_ad.unpack_dual(Same.apply(torch.autograd.forward_ad.make_dual(X, Y)))
    assert torch.equal(y.primal, X) and torch.equal(y.tangent, 3 * Y)


@pytest.mark.parametrize("device", ["meta", "fake"])
def test_shapes_without_data(ops: Any, device: str) -> None:
    from torch._subclasses import FakeTensorMode

    if device == "meta":
        out = ops.join(torch.empty(3, device="meta"), torch.empty(2, 2, device="meta"))
    else:
        with FakeTensorMode():
            out = ops.join(torch.empty(3), torch.empty(2, 2))
    assert (out.shape, out.dtype) == ((9,), torch.int32)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("blend", (X, Y, 0.5, 0.25, 2)),
        ("join", (torch.ones(3, dtype=torch.int32), torch.ones(2, 2, dtype=torch.int32))),
        ("same", (X,)),
        ("same", (torch.ones(2, 0),)),
    ],
)
def test_opcheck(ops: Any, name: str, arguments: tuple[Any, ...]) -> None:
    torch.library.opcheck(getattr(ops, name).default, arguments)


def test_sizes_are_symbols_under_compilation(ops: Any) -> None:
    @torch.compile(fullgraph=True, dynamic=True, backend="aot_eager")
    def joined(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return ops.same(ops.join(x, y)) + 1

    def ones(*shape: int) -> torch.Tensor:
        return torch.ones(shape, dtype=torch.int32)

    assert joined(ones(3), ones(4, 2)).sum() == 2 * 11 + 2
    with torch.compiler.set_stance("fail_on_recompile"):
        assert joined(ones(30), ones(5, 7)).sum() == 2 * 65 + 2


def test_sizes_are_symbols_in_exported_programs(ops: Any) -> None:
    class Blend(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return ops.blend(x, y, 0.5, 0.0, 1)

    rows = torch.export.Dim("rows")
    program = torch.export.export(Blend(), (X, Y), dynamic_shapes=({0: rows}, {0: rows})).module()
    torch.testing.assert_close(program(torch.ones(7, 3), torch.zeros(7, 3)), torch.full((7, 3), 0.5))
