"""The function between the kernel ABI and a kernel: buffers become arrays, results go into the outputs.

It is Python source, written out for one signature, that numba compiles together with the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.base.abi import Status
from pykernels.kernel.read.signature import Signature, TensorType, group_shapes

__all__ = ["Adapter", "Result", "computed_in", "write"]


@dataclass(frozen=True)
class Result:
    """One returned output: how to reach it in what the kernel returns (``""`` or ``"[0]"``), and its kind."""

    path: str
    is_array: bool
    is_widened: bool


@dataclass(frozen=True)
class Adapter:
    """Source text of ``adapter(data, dims, integers, reals, detail, begin, end)`` and the names that it uses.

    If it `lends` the memory of an output to the kernel, it has to be taken back when the kernel fails.
    """

    source: str
    names: dict[str, Any]
    lends: bool


def write(
    signature: Signature, keywords: Sequence[str], results: Sequence[Result] | None, *, in_pieces: bool
) -> Adapter:
    """The adapter for one signature.

    Parameters
    ----------
    keywords : sequence of str
        The keywords of the kernel, in the order of its parameters.
    results : sequence of Result or None
        What the kernel returns for each output; None if it writes into ``outs``.
    in_pieces : bool
        The kernel takes the piece to compute as its last argument.
    """
    names: dict[str, Any] = {}
    lines = ["def adapter(data, dims, integers, reals, detail, begin, end):"]
    at = 0
    for i, tensor in enumerate(signature.tensors):
        shape = "".join(f"dims[{at + axis}], " for axis in range(tensor.ndim))
        at += tensor.ndim
        lines += _array(i, tensor, shape, is_input=i < signature.n_inputs)
    arrays = (f"t{i}" for i in range(len(signature.tensors)))
    args = _tuple(group_shapes(signature.inputs, arrays))
    outs = _tuple(group_shapes(signature.outputs, arrays))
    values = [_keyword(keyword, signature, names) for keyword in keywords]
    if in_pieces:
        # With no elements to share out, all iterations are run: another output may have some.
        lines.append(f"    total = t{signature.n_inputs}.size")
        lines.append("    if total == 0:")
        lines.append("        begin, end, total = 0, 1, 1")
        values.append("(begin, end, total)")
    lent = -1 if results is None else _lent(signature, results)
    if lent >= 0:
        inputs = (f"half{i}" if t.dtype == np.float16 else f"t{i}" for i, t in enumerate(signature.tensors))
        others = [next(inputs) for _ in range(signature.n_inputs)]
        lines.append(f"    lend(t{signature.n_inputs + lent}, {_tuple(others)})")
    call = f"kernel({', '.join([args, *([outs] if results is None else []), *values])})"
    if results is None:
        lines.append(f"    {call}")
    else:
        lines.append(f"    r = {call}")
        lines += _stores(signature, results, lent)
    for i, tensor in enumerate(signature.tensors):
        if (i >= signature.n_inputs or tensor.mutable) and tensor.dtype == np.float16:
            lines.append(f"    narrow(t{i}, half{i})")
    lines.append(f"    return {Status.OK.value}")
    return Adapter("\n".join(lines) + "\n", names, lent >= 0)


def computed_in(dtype: np.dtype) -> np.dtype:
    """The dtype of the arrays that a kernel sees: float16 is computed in float32 and rounded once, at the end."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _array(i: int, tensor: TensorType, shape: str, *, is_input: bool) -> Iterator[str]:
    spelling = "bool_" if tensor.dtype.kind == "b" else tensor.dtype.name
    array = f"carray(data[{i}], ({shape}), np.{spelling})"
    if tensor.dtype == np.float16:
        yield f"    half{i} = carray(data[{i}], ({shape}), np.uint16)"
        array = f"widen(half{i})" if is_input else f"np.empty(({shape}), np.float32)"
    yield f"    t{i} = read_only({array})" if is_input and not tensor.mutable else f"    t{i} = {array}"


def _tuple(groups: Sequence[Any]) -> str:
    return "(" + "".join(f"{_tuple(g) if isinstance(g, tuple) else g}, " for g in groups) + ")"


def _keyword(keyword: str, signature: Signature, names: dict[str, Any]) -> str:
    for slot, (name, _) in enumerate(signature.scalars):
        if name == keyword:
            value = f"{'reals' if name in signature.reals else 'integers'}[{slot}]"
            return f"{value} != 0" if name in signature.flags else value
    # A global of the adapter, which numba takes as a constant.
    names[f"constant_{keyword}"] = dict(signature.constants)[keyword]
    return f"constant_{keyword}"


def _lent(signature: Signature, results: Sequence[Result]) -> int:
    """The output whose memory is lent for the array that is returned for it: the first of most axes; -1 for none."""
    outputs = signature.tensors[signature.n_inputs :]
    axes = [
        0 if not result.is_array or result.is_widened or tensor.dtype == np.float16 else tensor.ndim
        for tensor, result in zip(outputs, results)
    ]
    return axes.index(max(axes)) if any(axes) else -1


def _stores(signature: Signature, results: Sequence[Result], lent: int) -> Iterator[str]:
    outputs = signature.tensors[signature.n_inputs :]
    for k, (tensor, result) in enumerate(zip(outputs, results)):
        out = f"t{signature.n_inputs + k}"
        yield f"    r{k} = r{result.path}"
        if tensor.ndim == 0:
            continue
        yield f"    if r{k}.shape != {out}.shape:"
        yield f"        detail[0] = {k}"
        yield f"        detail[1] = {tensor.ndim}"
        yield f"        for axis in range({tensor.ndim}):"
        yield f"            detail[2 + axis] = r{k}.shape[axis]"
        yield f"        return {Status.WRONG_SHAPE.value}"
    # What has been lent comes last, since another result may lie there.
    for k in sorted(range(len(outputs)), key=lambda each: each == lent):
        tensor, result, out = outputs[k], results[k], f"t{signature.n_inputs + k}"
        if tensor.ndim == 0:
            yield f"    {out}[()] = r{k}[()]" if result.is_array else f"    {out}[()] = r{k}"
        elif not result.is_widened:
            yield f"    {'copy_back' if k == lent else 'copy'}({out}, r{k})"
        else:
            # numba's own `out[...] = r` takes longer to compile than most kernels, for messages that nobody sees.
            index = ", ".join(f"i{axis}" for axis in range(tensor.ndim))
            for axis in range(tensor.ndim):
                yield f"{'    ' * (axis + 1)}for i{axis} in range({out}.shape[{axis}]):"
            yield f"{'    ' * (tensor.ndim + 1)}{out}[{index}] = r{k}[{index}]"
