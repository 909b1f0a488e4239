"""Say of tensors that are not dense what to pass in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.nested._internal.nested_tensor import NestedTensor

from pykernels.base.errors import CallError
from pykernels.frameworks.torch.layout import Layout

#: PyTorch's names for where such tensors are dispatched, and the class of those that are dispatched by class.
KEYS = ("NestedTensorCPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU")
CLASS = NestedTensor


def error_of(layout: Layout, args: Iterable[Any], kwargs: Mapping[str, Any]) -> CallError:
    """Return the error for a call with a tensor that is not dense."""
    name, (kind, cure) = next(
        (name, found)
        for name, value in {**dict(zip(layout.names, args)), **kwargs}.items()
        for tensor in (value if isinstance(value, (list, tuple)) else [value])
        if isinstance(tensor, torch.Tensor) and (found := _kind_and_cure(tensor, name)) is not None
    )
    return CallError(f"op '{layout.op.name}': '{name}' is a {kind} tensor, but kernels take dense ones: {cure}")


def _kind_and_cure(tensor: torch.Tensor, name: str) -> tuple[str, str] | None:
    if tensor.is_nested:
        if tensor.layout == torch.jagged:
            return "nested", f"call it on {name}.values(), and torch.nested.nested_tensor_from_jagged on the result"
        return "nested", f"call it on each tensor of {name}.unbind()"
    if tensor.is_quantized:
        return "quantized", f"{name}.dequantize()"
    if tensor.layout != torch.strided:
        return "sparse", f"{name}.to_dense()"
    return None
