"""Forward-mode derivatives of the shipped ops in PyTorch: against finite differences, and through torch.func."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import Case
from folders import SQUARES, SQUARES_PROP, write_op
from messages import code_of
from shipped import DIFFERENTIABLE, ONE_EACH, function_of, tensors_of
from torch.autograd import forward_ad

import pykernels
from pykernels.base.errors import DefinitionError

# Its gradient is written by hand, and nothing is derived for auxiliary states.
WITHOUT_TANGENTS = {"batch_norm"}
WITH_TANGENTS = [case for case in DIFFERENTIABLE if case.op not in WITHOUT_TANGENTS and "float64" in case.dtypes]


@pytest.mark.parametrize("case", WITH_TANGENTS, ids=str)
def test_finite_differences(ops: Any, case: Case) -> None:
    run = function_of(ops, case)
    tensors = tensors_of(case, "float64")
    assert torch.autograd.gradcheck(
        lambda *xs: [y for y in run(*xs) if y.is_floating_point()],
        tensors,
        check_forward_ad=True,
        check_backward_ad=False,
    )


@pytest.mark.parametrize("case", [case for case in ONE_EACH if case.op in WITHOUT_TANGENTS], ids=str)
def test_an_op_without_tangents_is_refused(ops: Any, case: Case) -> None:
    dual = tensors_of(case, grad=False)
    which = case.variables[0]
    with forward_ad.dual_level():
        dual[which] = forward_ad.make_dual(dual[which], torch.ones_like(dual[which]))
        with pytest.raises(
            NotImplementedError,
            match=rf"op '\w+::{case.op}' has no forward-mode derivative \(jvp\): its definition has no Tangent, which "
            "`python -m pykernels derive --forward-mode` writes",
        ) as told:
            function_of(ops, case)(*dual)
        assert code_of(told.value) == "PK200"


X = torch.tensor([-1.5, 0.25, 2.0], dtype=torch.float64)


def test_torch_func(ops: Any) -> None:
    for ours, theirs in ((ops.sigmoid, torch.sigmoid), (ops.softmax, lambda x: torch.softmax(x, -1))):
        y, tangent = torch.func.jvp(ours, (X,), (X.flip(0),))
        torch.testing.assert_close((y, tangent), torch.func.jvp(theirs, (X,), (X.flip(0),)))
        torch.testing.assert_close(torch.func.jacfwd(ours)(X), torch.func.jacrev(theirs)(X))


def test_several_inputs_and_outputs(ops: Any) -> None:
    """Inputs without a tangent count as constants, and outputs without one have none."""
    w = torch.randn(2, 3, dtype=torch.float64)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(w, torch.ones_like(w))
        y = forward_ad.unpack_dual(ops.dense(X[None], dual))
        assert torch.equal(y.tangent, X.sum().expand(1, 2))
        y, mask = ops.dropout(dual, p=0.5, is_train=True)
        assert torch.equal(forward_ad.unpack_dual(y).tangent, mask)
        assert forward_ad.unpack_dual(mask).tangent is None
        indices, _ = ops.nms(forward_ad.make_dual(torch.rand(3, 4), torch.rand(3, 4)), torch.rand(3))
        assert forward_ad.unpack_dual(indices).tangent is None


def test_reverse_mode_within_forward_mode_is_refused_without_tangents_of_the_gradient(ops: Any) -> None:
    x = X.clone().requires_grad_()
    message = r"op '\w+::sigmoid_backward' has no forward-mode derivative"
    with forward_ad.dual_level():
        y = ops.sigmoid(forward_ad.make_dual(x, torch.ones_like(x)))
        with pytest.raises(NotImplementedError, match=message):
            torch.autograd.grad(y.sum(), x)
    y = ops.sigmoid(x)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=message):
        torch.autograd.grad(y, x, forward_ad.make_dual(torch.ones_like(y), torch.ones_like(y)))


KERNEL = """
def forward(args):
    (x,) = args
    return x * x * x


def backward(args):
    x, dy = args
    return 3 * dy * x * x


def tangent(args):
    x, tx = args
    return 3 * tx * x * x


def backward_tangent(args):
    x, dy, tx, tdy = args
    return 3 * tdy * x * x + 6 * dy * x * tx
"""
DEFINITION = """
#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("cubed_forward")
    .Input("x", "floating[...]")
    .Output("y", "floating[...]")
    .Backward("x, dy -> dx")
    .Tangent("x, tx -> ty")
    .Tangent("x, dy, tx, tdy -> tdx");
"""


def write(parent: Path, kernel: str, definition: str) -> Path:
    """A folder of the op `cubed`."""
    folder = parent / "cubed"
    folder.mkdir()
    for name, text in (("cpp_def.cpp", definition), ("py_kernel.py", kernel), ("py_api.py", "")):
        (folder / f"cubed_{name}").write_text(text)
    return folder


@pytest.mark.thorough
def test_hessians_of_an_op_whose_gradient_has_tangents(tmp_path: Path, enter: Callable[[str], Any]) -> None:
    pykernels.load_ops(write(tmp_path, KERNEL, DEFINITION))
    try:
        cubed = enter("cubed")
        assert torch.autograd.gradcheck(cubed, X.clone().requires_grad_(), check_forward_ad=True)
        hessian = torch.func.hessian(lambda x: cubed(x).sum())(X)
        torch.testing.assert_close(hessian, torch.diag(6 * X))
    finally:
        pykernels.unload_ops("cubed")


def test_all_derivatives_of_an_op_that_is_defined_in_python(tmp_path: Path, enter: Callable[[str], Any]) -> None:
    pykernels.load_ops(write_op(tmp_path, "squares", SQUARES, SQUARES_PROP))
    try:
        squares = enter("squares")
        inputs = torch.randn(2, 3, dtype=torch.float64, requires_grad=True), X.clone().requires_grad_()

        def run(x: Any, w: Any) -> Any:
            return squares(x, w, scale=1.5)

        assert torch.autograd.gradcheck(run, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(run, inputs, check_fwd_over_rev=True)
    finally:
        pykernels.unload_ops("squares")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('.Input("z").Output("ty")', "takes 'z', which is no input, output or tangent of an input of cubed_forward"),
        ('.Input("tx").Output("tz")', "returns 'tz', which is no tangent of an output of cubed_forward"),
    ],
)
def test_wrong_ops_of_tangents(tmp_path: Path, enter: Callable[[str], Any], line: str, message: str) -> None:
    unchanged = "SetTensorDescInferFn(oneflow::user_op::TensorDescInferFnUtil::Unchanged)"
    text = DEFINITION.replace('\n    .Tangent("x, tx -> ty")\n    .Tangent("x, dy, tx, tdy -> tdx")', "")
    text += f'REGISTER_USER_OP("cubed_tangent")\n    {line}.{unchanged};\n'
    kernel = KERNEL.partition("def tangent")[0] + "def tangent(args):\n    (tx,) = args\n    return tx\n"
    pykernels.load_ops(write(tmp_path, kernel, text))
    try:
        # Through Python, it is ours, and through C++, PyTorch's.
        with pytest.raises((DefinitionError, RuntimeError), match=f"cubed_cpp_def.cpp:8: op cubed_tangent {message}"):
            torch.func.jvp(enter("cubed"), (X,), (X,))
    finally:
        pykernels.unload_ops("cubed")
