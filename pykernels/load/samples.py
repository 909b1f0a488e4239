"""Make arguments to try an op with: from its folder, from the user's choices, or arrays of one shape."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.base import abi
from pykernels.base.errors import CallError, PykernelsError
from pykernels.define.definition import OpDef
from pykernels.define.instance import UNKNOWN, TensorSpec, specs_of
from pykernels.load.folders import PY_API
from pykernels.load.module import OpModule
from pykernels.load.sample_attributes import missing_attributes, plain_attributes

#: The name of a function in an op's API file: ``sample_inputs(elements, dtype)`` returns arguments, as a dict or a list
#: of dicts.
HOOK = "sample_inputs"
#: The most axes of inputs of one shape.
MAX_NDIM = 4
# Enough elements where sizes do not matter.
_FEW = 64


class MissingAttribute(CallError):
    """An attribute must be given: it has no default, and the definition refuses the values that were tried."""


@dataclass(frozen=True)
class Sample:
    """Arguments of a call."""

    #: The arrays for each input argument of the definition.
    inputs: list[list[np.ndarray]]
    #: All attributes, as `OpDef.parse_attributes` returns them.
    attributes: dict[str, Any]


def sample(
    module: OpModule,
    elements: int,
    dtype: np.dtype,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    ndim: int | None = None,
    makes_up: bool = True,
) -> Sample:
    """Return arguments for the forward op of a folder.

    The inputs come from the first of these that applies: `shapes`; the folder's own ``sample_inputs``; all inputs of
    one shape, if the definition accepts that. Attributes come from `attributes`, from ``sample_inputs``, from the
    defaults, and otherwise are plain values of their types.

    Parameters
    ----------
    elements : int
        About how many elements the largest array should have.
    dtype : np.dtype
        The dtype of the inputs; ``sample_inputs`` may choose others.
    shapes : mapping of str to tuple of int, optional
        The shapes of inputs by name. Other inputs have the shape that the definition infers, or that of the first.
    attributes : mapping, optional
        Values of attributes.
    ndim : int, optional
        The number of axes of inputs of one shape; by default the smallest that the definition accepts.
    makes_up : bool
        Whether to choose values for attributes that have no default and are not given.

    Raises
    ------
    MissingAttribute
        Nothing applies, and attributes without a default are missing; the message says what to do.
    CallError
        Nothing applies, or the definition refuses it; the message says what to do.
    """
    op, given = module.forward, dict(attributes or {})
    if not shapes and ndim is None and hasattr(module.api, HOOK):
        return declared(module, elements, dtype, given)[0]
    ranks = range(1, MAX_NDIM + 1) if ndim is None else (ndim,)
    tries = [shapes] if shapes else [{argument.name: _shape(elements, n) for argument in op.inputs[:1]} for n in ranks]
    refused: PykernelsError | None = None
    for filled in plain_attributes(module, dtype, given) if makes_up else (given,):
        for each in tries:
            try:
                return _of_shapes(op, each, dtype, filled)
            except PykernelsError as error:
                refused = refused or error
    assert refused is not None
    if missing_attributes(op, given):
        raise MissingAttribute(f"{refused}. {_hint(module, given)}") from refused
    if shapes:
        raise refused
    raise CallError(f"{refused}. {_hint(module, given)}") from refused


def usual_sample(module: OpModule, elements: int) -> Sample:
    """Return arguments in float32, or in complex64 if the op takes no real numbers; otherwise like `sample`."""
    try:
        return sample(module, elements, np.dtype(np.float32))
    except CallError:
        with contextlib.suppress(CallError):
            return sample(module, elements, np.dtype(np.complex64))
        raise


def samples(
    module: OpModule, dtype: np.dtype, *, shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Any]
) -> list[Sample]:
    """Return small arguments for the forward op of a folder, one for each kernel that it is likely to need.

    Without `shapes`, these are the op's own ``sample_inputs``, or inputs of one shape, with each number of axes up to
    `MAX_NDIM` that the definition accepts. Parameters and errors are those of `sample`.
    """
    if not shapes and hasattr(module.api, HOOK):
        return declared(module, _FEW, dtype, attributes)
    least = sample(module, _FEW, dtype, shapes=shapes, attributes=attributes)
    found = [least]
    if not shapes:
        for ndim in range(least.inputs[0][0].ndim + 1 if least.inputs else 1, MAX_NDIM + 1):
            with contextlib.suppress(CallError):
                found.append(sample(module, _FEW, dtype, attributes=attributes, ndim=ndim))
    return found


def declared(
    module: OpModule, elements: int, dtype: np.dtype, attributes: Mapping[str, Any] | None = None
) -> list[Sample]:
    """Return all arguments of the folder's own ``sample_inputs``, if it has one. Parameters are those of `sample`.

    This raises `CallError` if the function fails, or the definition refuses what it returns.
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
        raise CallError(f"{where} returned no arguments")
    try:
        return [_read_filled(module, {**values, **(attributes or {})}, dtype) for values in calls]
    except CallError as error:
        raise CallError(f"{where} returned arguments that the definition refuses: {error}") from error


def read_sample(module: OpModule, values: Mapping[str, Any]) -> Sample:
    """Read a call from arrays by input name (a list for inputs that take several) and values of attributes.

    This raises `CallError` if the definition refuses the call.
    """
    op, rest = module.forward, dict(values)
    inputs = [_group(rest.pop(argument.name, None)) for argument in op.inputs]
    read = Sample(inputs, op.parse_attributes(rest))
    op.infer(specs_of(inputs), read.attributes)
    return read


def _read_filled(module: OpModule, values: Mapping[str, Any], dtype: np.dtype) -> Sample:
    """Read a call whose values may lack attributes."""
    refused: CallError | None = None
    for filled in plain_attributes(module, dtype, values):
        try:
            return read_sample(module, filled)
        except CallError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _hint(module: OpModule, given: Mapping[str, Any]) -> str:
    """Return what to do if the definition accepts no generated arguments."""
    op = module.forward
    missing = missing_attributes(op, given)
    attributes = missing or [attribute for attribute in op.attributes if attribute.name not in given]
    shapes = [f"--shape {argument.name}={32 if n else '1000,32'}" for n, argument in enumerate(op.inputs)]
    parts = [
        f"the values of attributes ({' '.join(f'--attr {each.name}=VALUE' for each in attributes)})"
        if attributes
        else "",
        f"the shapes of the inputs ({' '.join(shapes)})" if shapes else "",
    ]
    named = " and ".join(filter(None, parts if missing else parts[::-1]))
    name = f"Name {named}, or add" if named else "Add"
    return f"{name} a function {HOOK}(elements, dtype) to {module.name}{PY_API}"


def draw(shape: Sequence[int], dtype: np.dtype, seed: int = 0) -> np.ndarray:
    """Draw numbers of any dtype: floats between -2 and 2 but not near 0, integers from 1 to 3.

    Both parts of complex numbers are such floats.
    """
    rng = np.random.default_rng(seed)
    if dtype.kind not in "fc":
        return rng.integers(1, 4, shape).astype(dtype)
    parts = []
    for _ in range(2 if dtype.kind == "c" else 1):
        values = rng.uniform(0.05, 2, shape)
        np.negative(values, out=values, where=rng.random(shape) < 0.5)
        parts.append(values)
    return np.asarray(parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]).astype(dtype)


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
            specs.append([UNKNOWN] * (0 if argument.optional else argument.count))
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
    """Return a shape with about `elements` elements, whose axes after the first have the same size."""
    size = 1 << int(math.log2(max(1, elements)) / ndim)
    size = min(size, 64)
    return (max(1, elements // size ** (ndim - 1)), *[size] * (ndim - 1))
