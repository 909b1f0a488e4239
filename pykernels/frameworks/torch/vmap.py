"""Support ``torch.func.vmap``: call an op for each element of a batch, or once if its kernel is elementwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pykernels.base.abi import KernelFlag
from pykernels.base.errors import PykernelsError
from pykernels.base.refusals import RefusedCall
from pykernels.define.instance import make_instance
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import Layout
from pykernels.kernel import service


def batched(operator: Callable[..., Any], layout: Layout, kernel_id: int) -> Callable[..., tuple[Any, Any]]:
    """Return the rule for an op, as for `torch.library.register_vmap`.

    Parameters
    ----------
    operator : callable
    layout : Layout
    kernel_id : int
        The id of the op's kernel.
    """
    states = [argument.name for argument in layout.op.inputs if argument.mutable]

    def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if states:
            raise RefusedCall(
                f"op '{layout.op.name}' changes its input '{states[0]}' in place, which vmap cannot do for each of a "
                "batch; call it in a loop"
            )
        together = [_together(value, dim, info.batch_size) for value, dim in zip(args, in_dims)]
        if _is_elementwise(layout, kernel_id, together, kwargs):
            result = operator(*together, **kwargs)
            return result, _first_axis(result)
        if not info.batch_size:
            raise RefusedCall(f"op '{layout.op.name}': vmap calls it for each of a batch, and the batch is empty")
        results = [operator(*_each(args, in_dims, at), **kwargs) for at in range(info.batch_size)]
        stacked = tuple(map(_stack, zip(*results))) if isinstance(results[0], tuple) else _stack(results)
        return stacked, _first_axis(stacked)

    return rule


def _is_elementwise(layout: Layout, kernel_id: int, together: Sequence[Any], kwargs: Any) -> bool:
    """Whether one call on the whole batch gives the results of a call for each element."""
    try:
        call = layout.read(dict(zip(layout.names, together)) | kwargs)
        shapes = {tuple(tensor.shape) for tensor in call.tensors}
        # Otherwise the inputs broadcast, and the batch axis would interfere.
        if len(shapes) != 1 or not all(isinstance(size, int) for shape in shapes for size in shape):
            return False
        inputs = specs_of(layout, call)
        outputs = layout.op.infer(inputs, call.attributes, counts=call.counts)
        if {spec.shape for group in outputs for spec in group} != shapes:
            return False
        kernel = service.resolve(kernel_id, make_instance(layout.op, inputs, outputs, call.attributes))
    except PykernelsError:
        return False
    return bool(kernel.struct.flags & KernelFlag.ELEMENTWISE)


def _together(value: Any, dim: Any, size: int) -> Any:
    """Return an argument for the whole batch, along its first axis."""
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return [_together(each, at, size) for each, at in zip(value, dim or [None] * len(value))]
    if not isinstance(value, torch.Tensor):
        return value
    return value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)


def _each(values: Sequence[Any], dims: Sequence[Any], at: int) -> list[Any]:
    """Return the arguments of one element of the batch."""
    return [_one(value, dim, at) for value, dim in zip(values, dims)]


def _one(value: Any, dim: Any, at: int) -> Any:
    if isinstance(value, (list, tuple)) and isinstance(dim, (list, tuple)):
        return _each(value, dim, at)
    return value if dim is None else value.select(dim, at)


def _stack(results: Sequence[Any]) -> Any:
    if isinstance(results[0], list):
        return [torch.stack(group) for group in zip(*results)]
    return torch.stack(list(results))


def _first_axis(result: Any) -> Any:
    """Return the batch axis of a result."""
    if isinstance(result, (list, tuple)):
        return type(result)(map(_first_axis, result))
    return 0
