"""Arguments to try an op with: what its folder gives, what the user says, or arrays of one shape."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels import abi
from pykernels.definition import OpDef, TensorSpec
from pykernels.errors import CallError, PykernelsError
from pykernels.module import PY_API, OpModule

__all__ = ["HOOK", "MAX_NDIM", "Sample", "declared", "draw", "read_sample", "sample", "samples"]

#: The function of an op's API file that gives arguments: ``sample_inputs(elements, dtype)``, which returns a dict, or a
#: list of them.
HOOK = "sample_inputs"
#: The most axes that inputs of one shape are given.
MAX_NDIM = 4
# Elements enough for what does not depend on sizes.
_FEW = 64


@dataclass(frozen=True)
class Sample:
    """Arguments of a call.

    Attributes
    ----------
    inputs : list of list of ndarray
        The arrays of every input argument of the definition.
    attributes : dict
        Every attribute, as `OpDef.parse_attributes` returns them.
    """

    inputs: list[list[np.ndarray]]
    attributes: dict[str, Any]


def sample(
    module: OpModule,
    elements: int,
    dtype: np.dtype,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    ndim: int | None = None,
) -> Sample:
    """Arguments for the forward op of a folder.

    The first of these that applies: `shapes`; the folder's own ``sample_inputs``; all inputs of one shape, if the
    definition accepts that.

    Parameters
    ----------
    elements : int
        About how many elements the largest array should have.
    dtype : np.dtype
        That of the inputs; a ``sample_inputs`` may give some another one.
    shapes : mapping of str to tuple of int, optional
        The shapes of inputs. Those that are not named have what the definition says, or the shape of the first.
    attributes : mapping, optional
        Values of attributes; the others have their defaults.
    ndim : int, optional
        How many axes inputs of one shape have; by default the least that the definition accepts.

    Raises
    ------
    CallError
        Nothing applies, or the definition refuses it; the message says what to do.
    """
    op, given = module.forward, dict(attributes or {})
    hook = getattr(module.api, HOOK, None)
    if shapes:
        return _of_shapes(op, shapes, dtype, given)
    if hook is not None and ndim is None:
        return declared(module, elements, dtype, given)[0]
    refused = ""
    for n in range(1, MAX_NDIM + 1) if ndim is None else (ndim,):
        try:
            first = next((argument.name for argument in op.inputs), None)
            return _of_shapes(op, {first: _shape(elements, n)} if first else {}, dtype, given)
        except PykernelsError as error:
            refused = refused or str(error)
    raise CallError(
        f"{refused}. Name the shapes of the inputs (--shape {op.inputs[0].name}=1000,32 ...) and "
        f"attributes (--attr name=value ...), or add a function {HOOK}(elements, dtype) to {module.name}{PY_API}"
    )


def samples(
    module: OpModule, dtype: np.dtype, *, shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Any]
) -> list[Sample]:
    """Small arguments for the forward op of a folder, one for each kernel that it is likely to need.

    Without `shapes`, and without arguments of the op's own, inputs of one shape with any number of axes, up to
    `MAX_NDIM`, that the definition accepts. Parameters are those of `sample`.

    Raises
    ------
    CallError
        As `sample`.
    """
    least = sample(module, _FEW, dtype, shapes=shapes, attributes=attributes)
    found = [least]
    if not shapes and not hasattr(module.api, HOOK):
        for ndim in range(least.inputs[0][0].ndim + 1 if least.inputs else 1, MAX_NDIM + 1):
            with contextlib.suppress(CallError):
                found.append(sample(module, _FEW, dtype, attributes=attributes, ndim=ndim))
    return found


def declared(
    module: OpModule, elements: int, dtype: np.dtype, attributes: Mapping[str, Any] | None = None
) -> list[Sample]:
    """All that the folder's own ``sample_inputs`` gives; nothing if there is none. Parameters are those of `sample`.

    Raises
    ------
    CallError
        It fails, or the definition refuses what it gives.
    """
    hook = getattr(module.api, HOOK, None)
    if hook is None:
        return []
    where = f"{module.files[PY_API]}: {HOOK}"
    try:
        given = hook(elements, dtype)
        calls = [dict(each) for each in (given if isinstance(given, list) else [given])]
    except Exception as error:
        raise CallError(f"{where} raised {type(error).__name__}: {error}") from error
    if not calls:
        raise CallError(f"{where} gives no arguments")
    try:
        return [read_sample(module, {**values, **(attributes or {})}) for values in calls]
    except CallError as error:
        raise CallError(f"{where} gives what the definition refuses: {error}") from error


def read_sample(module: OpModule, values: Mapping[str, Any]) -> Sample:
    """A call out of arrays by the names of inputs (a list where there are several), and values of attributes.

    Raises
    ------
    CallError
        The definition refuses it.
    """
    op, rest = module.forward, dict(values)
    inputs = [_group(rest.pop(argument.name, None)) for argument in op.inputs]
    read = Sample(inputs, op.parse_attributes(rest))
    op.infer([[TensorSpec(a.shape, a.dtype) for a in group] for group in inputs], read.attributes)
    return read


def draw(shape: Sequence[int], dtype: np.dtype, seed: int = 0) -> np.ndarray:
    """Numbers of any dtype: floating-point ones between -2 and 2 but not near 0, whole ones from 1 to 3."""
    rng = np.random.default_rng(seed)
    if dtype.kind not in "fc":
        return rng.integers(1, 4, shape).astype(dtype)
    values = rng.uniform(0.05, 2, shape)
    np.negative(values, out=values, where=rng.random(shape) < 0.5)
    return values.astype(dtype)


def _of_shapes(op: OpDef, shapes: Mapping[str, tuple[int, ...]], dtype: np.dtype, given: dict[str, Any]) -> Sample:
    known = [argument.name for argument in op.inputs]
    for name in shapes:
        if name not in known:
            raise CallError(f"op {op.name} has no input '{name}'; its inputs are {', '.join(known) or 'none'}")
    attributes = op.parse_attributes(given)
    first = next(iter(shapes.values()), ())
    infers = abi.OpFlag.INFERS_INPUTS in op.flags
    specs = []
    for argument in op.inputs:
        if argument.name in shapes or not (infers or argument.optional):
            specs.append([TensorSpec(shapes.get(argument.name, first), dtype)] * argument.count)
        else:
            specs.append([TensorSpec(None, None)] * (0 if argument.optional else argument.count))
    completed, _ = op.complete(specs, attributes)
    arrays = [
        [draw(first if t.shape is None else t.shape, t.dtype or dtype, seed) for t in group]
        for seed, group in enumerate(completed)
    ]
    return Sample(arrays, attributes)


def _group(value: Any) -> list[np.ndarray]:
    values = [] if value is None else value if isinstance(value, (list, tuple)) else [value]
    return [np.ascontiguousarray(each) if np.ndim(each) else np.asarray(each) for each in values]


def _shape(elements: int, ndim: int) -> tuple[int, ...]:
    """A shape with about so many elements, whose axes but the first are of one size."""
    size = 1 << int(math.log2(max(1, elements)) / ndim)
    size = min(size, 64)
    return (max(1, elements // size ** (ndim - 1)), *[size] * (ndim - 1))
