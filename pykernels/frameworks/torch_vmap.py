"""``torch.func.vmap``: an op called once for each of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pykernels.frameworks.torch_layout import Layout

__all__ = ["batched"]


def batched(operator: Callable[..., Any], layout: Layout) -> Callable[..., tuple[Any, Any]]:
    """The rule for an op, as `torch.library.register_vmap` takes it."""
    states = [argument.name for argument in layout.op.inputs if argument.mutable]

    def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if states:
            raise RuntimeError(
                f"op '{layout.op.name}' changes its input '{states[0]}' in place, which vmap cannot do for each of a "
                "batch; call it in a loop"
            )
        results = [operator(*_each(args, in_dims, at), **kwargs) for at in range(info.batch_size)]
        if not isinstance(results[0], tuple):
            return _stack(results), 0 if not isinstance(results[0], list) else [0] * len(results[0])
        stacked = tuple(_stack(group) for group in zip(*results))
        return stacked, tuple([0] * len(group) if isinstance(group, list) else 0 for group in stacked)

    return rule


def _each(values: Sequence[Any], dims: Sequence[Any], at: int) -> list[Any]:
    """The arguments of one of the batch."""
    return [_one(value, dim, at) for value, dim in zip(values, dims)]


def _one(value: Any, dim: Any, at: int) -> Any:
    if isinstance(value, (list, tuple)) and isinstance(dim, (list, tuple)):
        return _each(value, dim, at)
    return value if dim is None else value.select(dim, at)


def _stack(results: Sequence[Any]) -> Any:
    if isinstance(results[0], list):
        return [torch.stack(group) for group in zip(*results)]
    return torch.stack(list(results))
