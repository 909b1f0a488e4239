"""Find the dtypes that the nodes of an op can have by trying its definition.

When ONNX Runtime loads a model, it derives the types of a node's outputs from those of its inputs, before it knows
shapes. Definitions infer both at once, so they are tried on the shapes of a sample call with many dtypes.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pykernels.base import dtypes
from pykernels.base.errors import PykernelsError
from pykernels.call.uses import Use, forward_use, gradient_uses
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.load.module import OpModule
from pykernels.load.samples import MAX_NDIM, sample

#: The dtype of the sample calls.
_BASE = np.dtype(np.float32)
#: The dtypes of kernels for which ONNX Runtime has tensors.
DTYPES = tuple(dict.fromkeys([_BASE, *(dtype for dtype in dtypes.known() if dtype.kind != "c")]))
# The size of the samples; dtypes do not depend on it.
_ELEMENTS = 64

#: The dtype numbers of all input arguments, 0 for any dtype, then of all output arguments.
Row = tuple[int, ...]


def dtype_rows(module: OpModule) -> dict[str, list[Row]]:
    """Return the rows of every op type that a folder defines."""
    uses: dict[str, Use] = {}
    with contextlib.suppress(PykernelsError):
        forward = forward_use(module, sample(module, _ELEMENTS, _BASE, makes_up=False))
        uses[forward.op.name] = forward
        uses |= {use.op.name: use for use in gradient_uses(module, forward)}
    return {name: _rows(op, uses.get(name) or _uniform(op)) for name, op in module.definition.ops.items()}


def output_dtypes(module: OpModule, op: OpDef, inputs: Sequence[int]) -> Row:
    """Return the dtype numbers of all outputs for those of the inputs; empty if the op does not accept these."""
    for row in dtype_rows(module)[op.name]:
        if all(wanted in (0, number) for wanted, number in zip(row, inputs)):
            return row[len(op.inputs) :]
    return ()


def _uniform(op: OpDef) -> Use | None:
    """Return a call whose inputs have one shape, if the definition accepts one."""
    for ndim in range(1, MAX_NDIM + 1):
        inputs = [[TensorSpec((2,) * ndim, _BASE)] * argument.count for argument in op.inputs]
        with contextlib.suppress(PykernelsError):
            use = Use(op, inputs, op.parse_attributes({}), [argument.count for argument in op.outputs])
            use.infer()
            return use
    return None


def _rows(op: OpDef, use: Use | None) -> list[Row]:
    accepted = dict(_accepted(use)) if use is not None else {}
    if not accepted:
        # Nothing is known before a node runs: assume that outputs have the dtype of the first input.
        others = (0,) * (len(op.inputs) - 1) if op.inputs else ()
        numbers = [dtypes.number_of(dtype) for dtype in (DTYPES if op.inputs else (_BASE,))]
        return [(*((number,) if op.inputs else ()), *others, *(number,) * len(op.outputs)) for number in numbers]
    for n in range(len(op.inputs) + 1):
        for deciding in itertools.combinations(range(len(op.inputs)), n):
            found: dict[Row, Row] = {}
            for given, outputs in accepted.items():
                row = tuple(number if at in deciding else 0 for at, number in enumerate(given))
                if found.setdefault(row, outputs) != outputs:
                    break
            else:
                return [(*row, *outputs) for row, outputs in found.items()]
    raise AssertionError("all inputs together decide")


def _accepted(use: Use) -> Iterator[tuple[Row, Row]]:
    """Yield the input dtypes that the definition accepts, with the output dtypes that it infers, if those exist."""
    first = [group[0].dtype if group else None for group in use.inputs]
    varied = [{at for at, dtype in enumerate(first) if dtype == _BASE}, *({at} for at in range(len(first)))]
    for positions, dtype in itertools.product(varied, DTYPES):
        inputs = [
            [TensorSpec(spec.shape, dtype if at in positions else spec.dtype) for spec in group]
            for at, group in enumerate(use.inputs)
        ]
        with contextlib.suppress(PykernelsError):
            outputs = replace(use, inputs=inputs).infer()
            if all(spec.dtype is None or spec.dtype in DTYPES for group in outputs for spec in group):
                yield tuple(map(_number, inputs)), tuple(map(_number, outputs))


def _number(group: Sequence[TensorSpec]) -> int:
    """Return the dtype number of an argument's tensors; 0 if it has none here."""
    return dtypes.number_of(group[0].dtype) if group and group[0].dtype is not None else 0
