"""The operators of the library as differentiable functions: with autograd functions, and with a registered formula."""

from pathlib import Path

import torch
from torch_neuronx.xla_impl import custom_op

HERE = Path(__file__).parent
custom_op.load(name="two_layer", compute_srcs=[HERE / "kernels.cpp"], shape_srcs=[HERE / "shapes.cpp"])
ops = torch.ops.two_layer


class Dense(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return ops.dense_forward(x, weight)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        return ops.dense_backward_input(dy, weight), ops.dense_backward_weight(dy, x)


def _save(ctx, inputs, output):
    x, ctx.slope = inputs
    ctx.save_for_backward(x)


def _leaky_backward(ctx, dy):
    (x,) = ctx.saved_tensors
    return ops.leaky_backward(dy, x, ctx.slope), None


torch.library.register_autograd("two_layer::leaky_forward", _leaky_backward, setup_context=_save)

dense = Dense.apply
leaky_relu = ops.leaky_forward
