"""Infer results for tensors without data and with symbolic sizes, for PyTorch's compiler and exporter."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from pykernels.base import dtypes
from pykernels.base.errors import CallError, PykernelsError
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.torch.layout import Call, Layout, numpy_dtype, torch_dtype
from pykernels.frameworks.torch.symbolic_shapes import explore

# Stand-ins for unknown sizes that have no example: numbers that no definition contains.
_UNKNOWN = itertools.cycle(range(10007, 20000, 2))

_SUPPORTED = dtypes.known()


def specs_of(layout: Layout, call: Call, sizes: Callable[[Any], Sequence[int]] = tuple) -> list[list[TensorSpec]]:
    """Return the shapes and dtypes of the inputs.

    Parameters
    ----------
    sizes : callable, optional
        Returns numbers for the shape of a tensor.

    Raises
    ------
    CallError
        A dtype is not one that kernels compute with.
    """
    specs = []
    for argument, tensors in zip(layout.op.inputs, call.inputs):
        for tensor in tensors:
            dtype = numpy_dtype(tensor.dtype)
            if dtype is None or dtype not in _SUPPORTED:
                name = str(tensor.dtype).removeprefix("torch.")
                raise CallError(
                    f"op '{layout.op.name}': '{argument.name}' has dtype {name}, but kernels compute with "
                    f"{', '.join(map(str, _SUPPORTED))}"
                )
        specs.append([TensorSpec(tuple(sizes(t.shape)), numpy_dtype(t.dtype)) for t in tensors])
    return specs


def fake_outputs(layout: Layout, call: Call) -> list[Any]:
    """Return new tensors of the shapes and dtypes that the definition infers.

    Raises
    ------
    CallError, DefinitionError
        As for `OpDef.infer`.
    """
    op = layout.op

    def infer(unknowns: _Unknowns, numbers: Sequence[int]) -> list[TensorSpec]:
        inputs = specs_of(layout, call, lambda shape: [unknowns.number(size, numbers) for size in shape])
        return [spec for group in op.infer(inputs, call.attributes, counts=call.counts) for spec in group]

    def dims(unknowns: _Unknowns, numbers: Sequence[int]) -> tuple[int, ...] | None:
        try:
            return tuple(size for spec in infer(unknowns, numbers) for size in spec.shape or ())
        except PykernelsError:
            return None

    unknowns: _Unknowns = _Sizes(call.tensors)
    inferred = infer(unknowns, unknowns.example)
    sizes: Iterator[Any] = (size for spec in inferred for size in spec.shape or ())
    if unknowns.symbols:
        found = explore(functools.partial(dims, unknowns), unknowns.example)
        if found.fixed:
            # Sizes may depend on each other: those of a gradient on those of the forward pass, for example.
            deeper = _Symbols(call.tensors)
            if dims(deeper, deeper.example) is not None:
                other = explore(functools.partial(dims, deeper), deeper.example)
                if len(other.fixed) < len(found.fixed):
                    unknowns, found = deeper, other
        for first, second in found.equal:
            torch._check(unknowns.symbols[first] == unknowns.symbols[second])
        for symbol in found.fixed:
            int(unknowns.symbols[symbol])  # restricts the trace to this size
        sizes = (formula(unknowns.symbols) for formula in found.outputs)
    device = call.tensors[0].device if call.tensors else "cpu"
    return [
        torch.empty([next(sizes) for _ in spec.shape or ()], dtype=torch_dtype(spec.dtype), device=device)
        for spec in inferred
        if spec.dtype is not None
    ]


class _Unknowns(Protocol):
    """The symbols on which the sizes of tensors depend.

    Attributes
    ----------
    symbols : list of SymInt
    example : list of int
        A number for each symbol.
    """

    symbols: list[Any]
    example: list[int]

    def number(self, size: Any, numbers: Sequence[int]) -> int:
        """Return a size for these values of the symbols."""


class _Sizes:
    """The sizes that are not numbers, each as its own symbol; sizes that are known to be equal share one."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        sizes = {str(size.node.expr): size for size in _unknown_sizes(tensors)}
        self._positions = {text: position for position, text in enumerate(sizes)}
        self.symbols = list(sizes.values())
        self.example = [_example(size) for size in self.symbols]

    def number(self, size: Any, numbers: Sequence[int]) -> int:
        return numbers[self._positions[str(size.node.expr)]] if _is_unknown(size) else int(size)


class _Symbols:
    """The symbols of a tracer's expressions."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        nodes = [size.node for size in _unknown_sizes(tensors)]
        self._names = sorted({name for node in nodes for name in node.expr.free_symbols}, key=str)
        self.symbols = [nodes[0].shape_env.create_symintnode(name, hint=None) for name in self._names]
        self.example = [_example(symbol) for symbol in self.symbols]

    def number(self, size: Any, numbers: Sequence[int]) -> int:
        return int(size.node.expr.subs(dict(zip(self._names, numbers))) if _is_unknown(size) else size)


def _is_unknown(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def _unknown_sizes(tensors: Sequence[Any]) -> list[Any]:
    return [size for tensor in tensors for size in tensor.shape if _is_unknown(size)]


def _example(symbol: Any) -> int:
    return int(symbol.node.hint) if symbol.node.has_hint() else next(_UNKNOWN)
