"""`Use`: what a call of an op is besides its arrays, in a form that JAX can keep in its programs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np
from jax.dtypes import canonicalize_dtype

from pykernels.base.attributes import format_value
from pykernels.base.refusals import RefusedCall
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec, grouped
from pykernels.frameworks.jax import table

_T = TypeVar("_T")


@dataclass(frozen=True)
class Use:
    """An op with its attributes and the numbers of its tensors.

    A call returns the outputs, then the new values of the inputs that the op changes, since JAX's arrays never change.
    """

    op_type: str
    #: The values of all attributes as text, which tells apart values that are equal, such as 0.0 and -0.0.
    attributes: tuple[tuple[str, str], ...]
    #: The number of arrays of each input and output argument.
    input_counts: tuple[int, ...]
    output_counts: tuple[int, ...]
    #: Whether the call is part of a training pass; None if that depends on whether it is differentiated.
    is_train: bool | None = None

    def __repr__(self) -> str:
        return f"{self.op_type}({', '.join(f'{name}={text}' for name, text in self.attributes)})"

    @property
    def op(self) -> OpDef:
        """The op that is loaded now."""
        return table.find(self.op_type).op

    @property
    def values(self) -> dict[str, Any]:
        """The values of the attributes, as `OpDef.parse_attributes` returns them."""
        return _values(self.op, self.attributes)

    def inputs(self, flat: Iterable[_T]) -> list[list[_T]]:
        """Group inputs by argument."""
        return grouped(flat, self.input_counts)

    def outputs(self, flat: Iterable[_T]) -> list[list[_T]]:
        """Group outputs by argument."""
        return grouped(flat, self.output_counts)

    @property
    def states(self) -> range:
        """The positions of the inputs that the op changes; they are the last ones."""
        changed = sum(count for argument, count in zip(self.op.inputs, self.input_counts) if argument.mutable)
        n_inputs = sum(self.input_counts)
        return range(n_inputs - changed, n_inputs)

    def infer(self, arrays: Sequence[Any]) -> list[list[TensorSpec]]:
        """Return the outputs for inputs that have a shape and a dtype.

        Raises
        ------
        CallError
            The definition refuses the inputs.
        """
        return self.op.infer(self.specs(arrays), self.values, counts=self.output_counts)

    def specs(self, arrays: Sequence[Any]) -> list[list[TensorSpec]]:
        """Return the shapes and dtypes of the arrays of each input."""
        return self.inputs([spec_of(array, self.op_type) for array in arrays])


def use_of(
    op: OpDef,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
    *,
    is_train: bool | None = None,
) -> Use:
    """Return the `Use` of a call with these arrays of each input and values of `OpDef.parse_attributes`."""
    texts = []
    for attribute in op.attributes:
        value = attributes[attribute.name]
        texts.append((attribute.name, value if isinstance(value, str) else format_value(attribute.type, value)))
    return Use(op.name, tuple(texts), tuple(map(len, inputs)), tuple(counts), is_train)


def spec_of(array: Any, op_type: str) -> TensorSpec:
    """Return the shape and dtype of an array, a tracer, or what stands for one."""
    if not all(isinstance(size, int) for size in array.shape):
        raise RefusedCall(
            f"op '{op_type}': an input has the shape {array.shape}; definitions compute with numbers, so export a "
            f"function for shapes that are known"
        )
    return TensorSpec(tuple(array.shape), np.dtype(array.dtype))


def array_type(spec: TensorSpec) -> jax.ShapeDtypeStruct:
    """Return JAX's type for an output: without `jax_enable_x64`, JAX has 32-bit numbers where others have 64."""
    return jax.ShapeDtypeStruct(spec.shape, canonicalize_dtype(spec.dtype))


@functools.lru_cache(maxsize=4096)
def _values(op: OpDef, attributes: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return op.parse_attributes(dict(attributes))
