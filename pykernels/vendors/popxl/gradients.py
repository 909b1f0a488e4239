"""Compute the gradients of ONNX nodes with further ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pykernels.vendors.popxl.nodes import cast, integers, node, zeros
from pykernels.vendors.popxl.op import Backward, Gradient, Node
from pykernels.vendors.popxl.tensor import Constant, Tensor, constant


def scalar(tensor: Tensor, value: float) -> Tensor:
    """Return a scalar constant with the dtype of a tensor."""
    return constant(value, tensor.dtype)


def sum_to(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient of an operand of this shape: `grad` summed over the axes along which it was broadcast."""
    shape = tuple(shape)
    if grad.shape == shape:
        return grad
    added = grad.rank - len(shape)
    axes = [*range(added), *(added + at for at, size in enumerate(shape) if size == 1 != grad.shape[added + at])]
    summed = node("ReduceSum", grad, integers(*axes), keepdims=1)
    return summed if summed.shape == shape else node("Reshape", summed, integers(*shape))


def _of_input(derivative: Callable[[Tensor], Tensor]) -> Gradient:
    """Return the gradient of a function of one tensor, given its derivative in terms of the input."""
    return lambda op, grad, backward: [grad * derivative(backward.activation(op.inputs[0]))]


def _of_output(derivative: Callable[[Tensor], Tensor]) -> Gradient:
    """Return the gradient of a function of one tensor, given its derivative in terms of the output."""
    return lambda op, grad, backward: [grad * derivative(backward.activation(op.outputs[0]))]


def _mask(condition: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient where a condition holds, and 0 elsewhere."""
    return node("Where", condition, grad, scalar(grad, 0))


def _mul(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    a, b = op.inputs
    return [sum_to(grad * backward.activation(b), a.shape), sum_to(grad * backward.activation(a), b.shape)]


def _div(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    a, b = op.inputs
    part = grad / backward.activation(b)
    return [sum_to(part, a.shape), sum_to(-(part * backward.activation(op.outputs[0])), b.shape)]


def _pow(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    base, exponent = map(backward.activation, op.inputs)
    # 0 to the power of 0 - 1 is infinite, and 0 times infinity is NaN.
    regular = node("Where", node("Equal", exponent, scalar(exponent, 0)), scalar(base, 1), base)
    lower = node("Pow", regular, exponent - scalar(exponent, 1))
    of_base = sum_to(grad * exponent * lower, base.shape)
    if isinstance(op.inputs[1], Constant):
        return [of_base, None]
    positive = node("Greater", base, scalar(base, 0))
    log = node("Log", node("Where", positive, base, scalar(base, 1)))
    return [of_base, sum_to(grad * backward.activation(op.outputs[0]) * log, exponent.shape)]


def _matmul(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    a, b = map(backward.activation, op.inputs)
    # As in NumPy, vectors become matrices, and the result drops the additional axis.
    rows = a if a.rank > 1 else node("Reshape", a, integers(1, *a.shape))
    columns = b if b.rank > 1 else node("Reshape", b, integers(*b.shape, 1))
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    grad = node("Reshape", grad, integers(*batch, rows.shape[-2], columns.shape[-1]))
    of_a = sum_to(node("MatMul", grad, _swapped(columns)), rows.shape)
    of_b = sum_to(node("MatMul", _swapped(rows), grad), columns.shape)
    return [_reshaped(of_a, a.shape), _reshaped(of_b, b.shape)]


def _swapped(tensor: Tensor) -> Tensor:
    """Return a stack of matrices with each matrix transposed."""
    axes = list(range(tensor.rank))
    return node("Transpose", tensor, perm=[*axes[:-2], axes[-1], axes[-2]])


def _reshaped(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    return tensor if tensor.shape == tuple(shape) else node("Reshape", tensor, integers(*shape))


def _where(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    condition, a, b = op.inputs
    held = backward.activation(condition)
    return [None, sum_to(_mask(held, grad), a.shape), sum_to(_mask(node("Not", held), grad), b.shape)]


def _clip(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    t, least, most = map(backward.activation, op.inputs)
    inside = node("And", node("GreaterOrEqual", t, least), node("LessOrEqual", t, most))
    return [_mask(inside, grad), None, None]


def _softmax(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    y = backward.activation(op.outputs[0])
    weighted = node("ReduceSum", grad * y, integers(op.attributes["axis"]), keepdims=1)
    return [(grad - weighted) * y]


def _with_axes(op: Node, reduced: Tensor) -> Tensor:
    """Return a tensor of a reduction's result shape with the reduced axes restored, with length 1."""
    axes = [int(at) for at in op.inputs[1]._data]  # type: ignore[attr-defined]
    return _reshaped(reduced, [1 if at in axes else size for at, size in enumerate(op.inputs[0].shape)])


def _reduce_sum(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    return [node("Expand", _with_axes(op, grad), integers(*op.inputs[0].shape)), None]


def _reduce_mean(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    share = max(op.inputs[0].nelms, 1) // max(op.outputs[0].nelms, 1)
    return _reduce_sum(op, grad / scalar(grad, share), backward)


def _reduce_extremum(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    t, found = backward.activation(op.inputs[0]), _with_axes(op, backward.activation(op.outputs[0]))
    chosen = cast(node("Equal", t, found), grad.dtype)
    # Equal extrema share the gradient equally.
    share = chosen / node("ReduceSum", chosen, integers(*op.inputs[1]._data), keepdims=1)  # type: ignore[attr-defined]
    return [_with_axes(op, grad) * share, None]


def _reduce_log_sum_exp(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    t, result = backward.activation(op.inputs[0]), _with_axes(op, backward.activation(op.outputs[0]))
    return [_with_axes(op, grad) * node("Exp", t - result), None]


def _gather(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    t, indices = op.inputs
    axis, before = op.attributes["axis"], zeros(t)
    # One row for each index, with the gathered axis in front.
    order = [axis, *(at for at in range(t.rank) if at != axis)]
    places = list(range(axis, axis + indices.rank))
    front = [*places, *(at for at in range(grad.rank) if at not in places)]
    rows = node("Transpose", grad, perm=front)
    rows = node("Reshape", rows, integers(indices.nelms, *(t.shape[at] for at in order[1:])))
    flat = node("Reshape", backward.activation(indices), integers(indices.nelms, 1))
    wrapped = node("Cast", flat, to=7)
    turned = node("Transpose", before, perm=order)
    added = node("ScatterND", turned, wrapped, rows, reduction="add")
    return [node("Transpose", added, perm=[int(at) for at in np.argsort(order)]), None]


def _concat(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    axis, begin, parts = op.attributes["axis"], 0, []
    for t in op.inputs:
        parts.append(node("Slice", grad, *map(integers, (begin, begin + t.shape[axis], axis, 1))))
        begin += t.shape[axis]
    return parts


def _slice(op: Node, grad: Tensor, backward: Backward) -> Sequence[Tensor | None]:
    t = op.inputs[0]
    # The flat indices, into the whole tensor, of the slice's elements.
    numbers = np.arange(t.nelms, dtype=np.int64).reshape(t.shape)
    starts, stops, axes, steps = (each._data.tolist() for each in op.inputs[1:])  # type: ignore[attr-defined]
    slices = [slice(None)] * t.rank
    for start, stop, axis, step in zip(starts, stops, axes, steps):
        slices[axis] = slice(start, None if step < 0 and stop < -t.shape[axis] else stop, step)
    places = constant(numbers[tuple(slices)].reshape(-1, 1), downcast=False)
    flat = node("Reshape", zeros(t), integers(t.nelms))
    added = node("ScatterND", flat, places, node("Reshape", grad, integers(grad.nelms)))
    return [node("Reshape", added, integers(*t.shape)), *(None for _ in op.inputs[1:])]


#: The gradient functions by ONNX op.
GRADIENTS: dict[str, Gradient] = {
    "Abs": _of_input(lambda x: node("Sign", x)),
    "Add": lambda op, grad, backward: [sum_to(grad, t.shape) for t in op.inputs],
    "Cast": lambda op, grad, backward: [cast(grad, op.inputs[0].dtype)],
    "Clip": _clip,
    "Concat": _concat,
    "Cos": _of_input(lambda x: -node("Sin", x)),
    "CumSum": lambda op, grad, backward: [
        node("CumSum", grad, backward.activation(op.inputs[1]), reverse=1 - op.attributes["reverse"]),
        None,
    ],
    "Div": _div,
    "Erf": _of_input(lambda x: node("Exp", -(x * x)) * scalar(x, 2 / np.sqrt(np.pi))),
    "Exp": _of_output(lambda y: y),
    "Expand": lambda op, grad, backward: [sum_to(grad, op.inputs[0].shape), None],
    "Gather": _gather,
    "Identity": lambda op, grad, backward: [grad],
    "Log": lambda op, grad, backward: [grad / backward.activation(op.inputs[0])],
    "MatMul": _matmul,
    "Mul": _mul,
    "Neg": lambda op, grad, backward: [-grad],
    "Pow": _pow,
    "ReduceLogSumExp": _reduce_log_sum_exp,
    "ReduceMax": _reduce_extremum,
    "ReduceMean": _reduce_mean,
    "ReduceMin": _reduce_extremum,
    "ReduceSum": _reduce_sum,
    "Relu": lambda op, grad, backward: [
        _mask(node("Greater", y := backward.activation(op.outputs[0]), scalar(y, 0)), grad)
    ],
    "Reshape": lambda op, grad, backward: [_reshaped(grad, op.inputs[0].shape), *(None for _ in op.inputs[1:])],
    "Sigmoid": _of_output(lambda y: y * (1 - y)),
    "Sin": _of_input(lambda x: node("Cos", x)),
    "Slice": _slice,
    "Softmax": _softmax,
    "Sqrt": lambda op, grad, backward: [grad / (2 * backward.activation(op.outputs[0]))],
    "Sub": lambda op, grad, backward: [sum_to(grad, op.inputs[0].shape), sum_to(-grad, op.inputs[1].shape)],
    "Tanh": _of_output(lambda y: 1 - y * y),
    "Transpose": lambda op, grad, backward: [
        node("Transpose", grad, perm=[int(at) for at in np.argsort(op.attributes["perm"])])
    ],
    "Where": _where,
}
