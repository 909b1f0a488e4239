"""What an op would return: tensors without data, whose sizes may be symbols. Compilers and exporters ask for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import torch

from pykernels.definition import TensorSpec
from pykernels.errors import CallError, PykernelsError
from pykernels.frameworks.torch_layout import Call, Layout, numpy_dtype, torch_dtype
from pykernels.symbolic_shapes import explore

__all__ = ["fake_outputs", "specs_of"]

# Stand for sizes of which nothing is known, not even an example: numbers that nobody writes into a definition.
_UNKNOWN = itertools.cycle(range(10007, 20000, 2))

#: What kernels compute with.
_SUPPORTED = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")


def specs_of(layout: Layout, call: Call, sizes: Callable[[Any], Sequence[int]] = tuple) -> list[list[TensorSpec]]:
    """Shapes and dtypes of the inputs.

    Parameters
    ----------
    sizes : callable, optional
        Numbers for the shape of a tensor.

    Raises
    ------
    CallError
        A dtype is not one that kernels compute with.
    """
    specs = []
    for argument, tensors in zip(layout.op.inputs, call.inputs):
        for tensor in tensors:
            dtype = numpy_dtype(tensor.dtype)
            if dtype is None or str(dtype) not in _SUPPORTED:
                name = str(tensor.dtype).removeprefix("torch.")
                raise CallError(
                    f"op '{layout.op.name}': '{argument.name}' has dtype {name}, but kernels compute with "
                    f"{', '.join(_SUPPORTED)}"
                )
        specs.append([TensorSpec(tuple(sizes(t.shape)), numpy_dtype(t.dtype)) for t in tensors])
    return specs


def fake_outputs(layout: Layout, call: Call) -> list[Any]:
    """New tensors of the shapes and dtypes that the definition infers.

    Raises
    ------
    CallError, DefinitionError
        As `OpDef.infer`.
    """
    symbols = _symbols(call.tensors)
    example = [_example(symbol) for symbol in symbols.values()]
    op = layout.op

    def infer(numbers: Sequence[int]) -> list[TensorSpec]:
        values = dict(zip(symbols, numbers))
        inputs = specs_of(
            layout, call, lambda shape: [values[_key(size)] if _is_symbol(size) else int(size) for size in shape]
        )
        return [spec for group in op.infer(inputs, call.attributes, counts=call.counts) for spec in group]

    def dims(numbers: Sequence[int]) -> tuple[int, ...] | None:
        try:
            return tuple(size for spec in infer(numbers) for size in spec.shape or ())
        except PykernelsError:
            return None

    inferred = infer(example)
    sizes: Iterator[Any] = (size for spec in inferred for size in spec.shape or ())
    if symbols:
        found = explore(dims, example)
        originals = list(symbols.values())
        for first, second in found.equal:
            torch._check(originals[first] == originals[second])
        for symbol in found.fixed:
            int(originals[symbol])  # from now on what is traced is for this size only
        sizes = (formula(originals) for formula in found.outputs)
    device = call.tensors[0].device if call.tensors else "cpu"
    return [
        torch.empty([next(sizes) for _ in spec.shape or ()], dtype=torch_dtype(spec.dtype), device=device)
        for spec in inferred
        if spec.dtype is not None
    ]


def _is_symbol(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def _key(size: Any) -> Hashable:
    """The same for sizes that are known to be equal."""
    return str(size.node.expr)


def _symbols(tensors: Sequence[Any]) -> dict[Hashable, Any]:
    return {_key(size): size for tensor in tensors for size in tensor.shape if _is_symbol(size)}


def _example(symbol: Any) -> int:
    return int(symbol.node.hint) if symbol.node.has_hint() else next(_UNKNOWN)
