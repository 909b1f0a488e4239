"""Gradients of the shipped ops in PyTorch: against finite differences, and through torch.func."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import CASES, Case
from shipped import DIFFERENTIABLE, ONE_EACH, EveryOp, function_of, tensors_of, variables, weighted_sum

import pykernels


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_finite_differences(ops: Any, case: Case) -> None:
    if "float64" not in case.dtypes:
        pytest.skip("finite differences want float64")
    run = function_of(ops, case)
    assert torch.autograd.gradcheck(lambda *xs: variables(run(*xs)), tensors_of(case, "float64"))


def _has_second_order(name: str) -> bool:
    ops = pykernels.list_ops()[name].definition.ops
    return f"{name}_backward" in ops and ops[f"{name}_backward"].gradient is not None


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_second_derivatives(ops: Any, case: Case) -> None:
    """Where the backward op has a gradient they are right; elsewhere they are refused."""
    run = function_of(ops, case)
    if _has_second_order(case.op):
        assert torch.autograd.gradgradcheck(lambda *xs: variables(run(*xs)), tensors_of(case, "float64"))
        return
    tensors = tensors_of(case)
    first = torch.autograd.grad(weighted_sum(run(*tensors)), variables(tensors), create_graph=True)
    if not any(gradient.requires_grad for gradient in first):
        return  # the op is linear, so its gradient is a constant
    with pytest.raises(RuntimeError, match=rf"op '\w+::{case.op}_backward' has no gradient: .*{case.op}_backward'"):
        torch.autograd.grad(sum(g.square().sum() for g in first), variables(tensors))


#: x * x, whose gradient has one of its own that depends on both of its inputs.
SQUARE_DEFINITION = """
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  ctx->DefineOp("first", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("square_backward")
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .InputBind("x", ctx->FwOp().input("x", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp("first").output("dx", 0); });
  return Maybe<void>::Ok();
}

Maybe<void> PlanSecondGradient(user_op::BackwardOpConfContext* ctx) {
  ctx->DefineOp("second", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("square_second")
        .InputBind("ddx", ctx->FwOp().output_grad("dx", 0))
        .InputBind("dy", ctx->FwOp().input("dy", 0))
        .InputBind("x", ctx->FwOp().input("x", 0))
        .Output("ddy")
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("dy", 0), [&] { return ctx->GetOp("second").output("ddy", 0); });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp("second").output("dx", 0); });
  return Maybe<void>::Ok();
}

Maybe<void> InferSecondShape(user_op::InferContext* ctx) {
  for (const char* name : {"ddy", "dx"}) ctx->SetOutputShape(name, 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("square_forward")
    .Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("square_backward")
    .Input("dy").Input("x").Output("dx").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("square_second")
    .Input("ddx").Input("dy").Input("x").Output("ddy").Output("dx").SetTensorDescInferFn(InferSecondShape);
REGISTER_USER_OP_GRAD("square_forward").SetBackwardOpConfGenFn(PlanGradient);
REGISTER_USER_OP_GRAD("square_backward").SetBackwardOpConfGenFn(PlanSecondGradient);

}  // namespace oneflow
"""
SQUARE_KERNEL = """
def forward(args):
    (x,) = args
    return x * x


def backward(args):
    dy, x = args
    return 2 * dy * x


def second(args):
    ddx, dy, x = args
    return 2 * ddx * x, 2 * ddx * dy
"""


@pytest.mark.thorough
def test_a_second_derivative_that_depends_on_all_of_the_first(tmp_path: Path, enter: Callable[[str], Any]) -> None:
    folder = tmp_path / "square"
    folder.mkdir()
    for name, text in (("cpp_def.cpp", SQUARE_DEFINITION), ("py_kernel.py", SQUARE_KERNEL), ("py_api.py", "")):
        (folder / f"square_{name}").write_text(text)
    pykernels.load_ops(folder)
    try:
        square = enter("square")
        x = torch.tensor([-1.5, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(square, x)
        assert torch.autograd.gradgradcheck(square, x)
        assert torch.autograd.functional.hessian(lambda x: square(x).sum(), x.detach()).diagonal().tolist() == [2.0] * 3
    finally:
        pykernels.unload_ops("square")


def test_which_results_have_a_gradient(ops: Any) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    y, mask = ops.dropout(x, is_train=True)
    assert y.requires_grad and not mask.requires_grad
    assert not any(out.requires_grad for out in ops.nms(torch.rand(3, 4, requires_grad=True), torch.rand(3)))
    with torch.no_grad():
        assert not ops.sigmoid(x).requires_grad
    assert not ops.embedding(torch.tensor([1.0], requires_grad=True), torch.randn(3, 4)).requires_grad


def test_only_what_is_asked_for_is_computed(ops: Any) -> None:
    data, weight = torch.randn(3, 4, requires_grad=True), torch.randn(2, 4)
    ops.dense(data, weight).sum().backward()
    torch.testing.assert_close(data.grad, weight.sum(0).expand(3, 4))
    assert weight.grad is None


def test_an_output_whose_gradient_is_not_there(ops: Any) -> None:
    logits = torch.randn(3, 4, requires_grad=True)
    loss, _ = ops.softmax_cross_entropy(logits, torch.tensor([0, 1, 2], dtype=torch.int32))
    assert loss.requires_grad
    loss.sum().backward()
    assert logits.grad.shape == logits.shape


@pytest.mark.parametrize("way", ["eager", "compiled", "transformed"])
def test_a_loss_at_the_end_of_a_network_ignores_what_comes_in(way: str, ops: Any) -> None:
    x, labels = torch.randn(3, 4, dtype=torch.float64), torch.tensor([0, 1, 2])
    expected = torch.func.grad(lambda x: torch.nn.functional.cross_entropy(2 * x, labels, reduction="sum"))(x)

    def end(x: torch.Tensor) -> torch.Tensor:
        loss, probability = ops.softmax_cross_entropy(2 * x, labels, need_top_grad=False)
        return 3 * loss.mean() + probability.sum()

    if way == "transformed":
        return torch.testing.assert_close(torch.func.grad(end)(x), expected)
    if way == "compiled":
        end = torch.compile(end, fullgraph=True, backend="aot_eager")
    end(x.requires_grad_()).backward()
    torch.testing.assert_close(x.grad, expected)


def test_a_graph_is_walked_once(ops: Any) -> None:
    x = torch.randn(3, requires_grad=True)
    y = ops.sigmoid(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_what_was_kept_and_then_changed_is_reported(ops: Any) -> None:
    x = torch.randn(3, requires_grad=True)
    y = ops.sigmoid(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensors_go_through_hooks(ops: Any) -> None:
    x = torch.randn(3, requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        ops.sigmoid(x).sum().backward()
    assert len(packed) == 1


def test_checkpoints(ops: Any) -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(3, requires_grad=True)
    checkpoint(lambda x: ops.sigmoid(ops.tanh(x)), x, use_reentrant=False).sum().backward()
    expected = torch.autograd.grad(torch.sigmoid(torch.tanh(x)).sum(), x)[0]
    torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize("case", [case for case in ONE_EACH if case.variables], ids=str)
def test_torch_func_grad(ops: Any, case: Case) -> None:
    run = function_of(ops, case)
    plain, tensors = tensors_of(case, grad=False), tensors_of(case)
    found = torch.func.grad(lambda *xs: run(*xs)[0].sum(), argnums=tuple(case.variables))(*plain)
    run(*tensors)[0].sum().backward()
    torch.testing.assert_close(list(found), [tensors[which].grad for which in case.variables])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_vmap(ops: Any, case: Case) -> None:
    run = function_of(ops, case)
    batch = [tensors_of(case, seed=seed, grad=False) for seed in range(3)]
    results = torch.func.vmap(run, out_dims=1)(*(torch.stack(each) for each in zip(*batch)))
    for at, tensors in enumerate(batch):
        torch.testing.assert_close([y.select(1, at) for y in results], run(*tensors), rtol=0, atol=0)


def test_vmap_of_an_elementwise_op_is_one_call(ops: Any, backend: str) -> None:
    called = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    both = torch.func.vmap(lambda x: torch.func.grad(lambda x: ops.leaky_relu(x, alpha=0.5).sum())(x), in_dims=1)
    with Watch():
        gradient = both(x)
    assert torch.equal(gradient, torch.where(x > 0, 1.0, 0.5).T)
    ours = [name for name in called if name.startswith(backend)]
    assert ours == [f"{backend}::leaky_relu", f"{backend}::leaky_relu_backward"]
    called.clear()
    with Watch():
        torch.func.vmap(ops.leaky_relu_backward, in_dims=(0, None))(x, x[0])
        torch.func.vmap(torch.func.vmap(ops.sigmoid))(x.view(5, 3, 1).expand(5, 3, 2))
    assert [name for name in called if name.startswith(backend)] == [
        f"{backend}::leaky_relu_backward",
        f"{backend}::sigmoid",
    ]


def test_vmap_of_an_empty_batch(ops: Any) -> None:
    assert torch.func.vmap(ops.sigmoid)(torch.ones(0, 3)).shape == (0, 3)
    with pytest.raises(RuntimeError, match="op 'softmax_forward': vmap calls it for each of a batch, and the batch is"):
        torch.func.vmap(ops.softmax)(torch.ones(0, 3))


def test_vmap_over_some_inputs_and_of_gradients(ops: Any) -> None:
    data, weight = torch.randn(5, 3, 4), torch.randn(2, 4)
    results = torch.func.vmap(ops.dense, in_dims=(0, None))(data, weight)
    torch.testing.assert_close(results, data @ weight.T)
    each = torch.func.vmap(torch.func.grad(lambda x: ops.sigmoid(x).sum()))(data[0])
    torch.testing.assert_close(each, torch.func.vmap(torch.func.grad(lambda x: torch.sigmoid(x).sum()))(data[0]))


def test_functional_call(ops: Any) -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(2, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ops.sigmoid(ops.dense(x, self.weight))

    layer, x, weight = Layer(), torch.randn(3, 4), torch.randn(2, 4)
    y = torch.func.functional_call(layer, {"weight": weight}, (x,))
    torch.testing.assert_close(y, torch.sigmoid(x @ weight.T))
    gradient = torch.func.grad(lambda w: torch.func.functional_call(layer, {"weight": w}, (x,)).sum())(weight)
    expected = torch.func.grad(lambda w: torch.sigmoid(x @ w.T).sum())(weight)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.thorough
def test_functional_call_of_every_op(ops: Any) -> None:
    module, factor = EveryOp(ops), torch.tensor(2.0, dtype=torch.float64)
    module(factor).backward()
    weights = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    assert len(weights) > 10
    found = torch.func.grad(lambda w: torch.func.functional_call(module, w, (factor,)))(weights)
    torch.testing.assert_close(found, {name: weight.grad for name, weight in module.named_parameters()})
    for weight in weights.values():
        weight.mul_(0.5)
    called = torch.func.functional_call(module, weights, (factor,))
    module.load_state_dict(weights)
    assert called == module(factor) and not called.isnan()


@pytest.mark.parametrize("compiles", [False, True])
def test_a_gradient_that_does_not_depend_on_the_input(enter: Callable[[str], Any], load: Any, compiles: bool) -> None:
    """Its shape is that of the input all the same."""
    definition = """
        import pykernels


        class RowSum(pykernels.CustomOpProp):
            def infer_shape(self, in_shape):
                return in_shape, [in_shape[0][:1]]

            def declare_backward_dependency(self, out_grad, in_data, out_data):
                return out_grad
    """
    kernel = """
        def forward(args):
            return args[0].sum(axis=1)


        def backward(args, outs):
            outs[0][:] = args[0].reshape((-1, 1))
    """
    run = enter(load(kernel, definition=definition))
    for shape in ((2, 3), (4, 5)):
        x = torch.ones(shape, requires_grad=True)
        call = torch.compile(lambda x: run(x) * 2, backend="aot_eager") if compiles else lambda x: run(x) * 2
        call(x).sum().backward()
        assert x.grad is not None
        assert torch.equal(x.grad, torch.full(shape, 2.0))


def test_an_input_without_a_gradient(enter: Callable[[str], Any], load: Any) -> None:
    definition = """
        import pykernels


        class Scaled(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["x", "scale"]

            def list_gradients(self):
                return ["x"]
    """
    kernel = """
        def forward(args):
            return args[0] * args[1]


        def backward(args):
            return args[0] * args[2]
    """
    run = enter(load(kernel, definition=definition))
    x, scale = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    run(x, scale).sum().backward()
    assert torch.equal(x.grad, scale.detach())
    assert scale.grad is None
