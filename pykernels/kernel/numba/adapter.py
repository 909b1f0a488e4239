"""Write the adapter between the kernel ABI and a kernel: buffers become arrays, results go into the outputs.

The adapter is Python source for one signature, which numba compiles together with the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pykernels.base.abi import Status
from pykernels.base.dtypes import computed_in
from pykernels.kernel.read.signature import Signature, TensorType, group_shapes


@dataclass(frozen=True)
class Result:
    """One output: its path in the returned value (``""`` or ``"[0]"``) and its kind."""

    path: str
    is_array: bool
    is_widened: bool


@dataclass(frozen=True)
class Adapter:
    """The source of ``adapter(data, dims, integers, reals, detail, begin, end)`` and the names that it uses.

    If the adapter `lends` the memory of an output to the kernel, the kernel's entry takes it back when the kernel
    fails.
    """

    source: str
    names: dict[str, Any]
    lends: bool


def write(
    signature: Signature, keywords: Sequence[str], results: Sequence[Result] | None, *, in_pieces: bool, may_lend: bool
) -> Adapter:
    """Return the adapter for one signature.

    Parameters
    ----------
    keywords : sequence of str
        The keywords of the kernel, in the order of its parameters.
    results : sequence of Result or None
        The kernel's result for each output; None if it writes into ``outs``.
    in_pieces : bool
        Whether the kernel receives the piece to compute as its last argument.
    may_lend : bool
        Whether the kernel may compute a result directly in the memory of an output.
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
        # With no elements to divide among threads, run all iterations: another output may have elements.
        lines.append(f"    total = t{signature.n_inputs}.size")
        lines.append("    if total == 0:")
        lines.append("        begin, end, total = 0, 1, 1")
        values.append("(begin, end, total)")
    lent = -1 if results is None or not may_lend else _lent(signature, results)
    if lent >= 0:
        inputs = (f"half{i}" if is_half(t) else f"t{i}" for i, t in enumerate(signature.tensors))
        others = [next(inputs) for _ in range(signature.n_inputs)]
        lines.append(f"    lend(t{signature.n_inputs + lent}, {_tuple(others)})")
    call = f"kernel({', '.join([args, *([outs] if results is None else []), *values])})"
    if results is None:
        lines.append(f"    {call}")
    else:
        lines.append(f"    r = {call}")
        lines += _stores(signature, results, lent)
    for i, tensor in enumerate(signature.tensors):
        if (i >= signature.n_inputs or tensor.mutable) and is_half(tensor):
            lines.append(f"    narrow_{tensor.dtype}(t{i}, half{i})")
    lines.append(f"    return {Status.OK.value}")
    return Adapter("\n".join(lines) + "\n", names, lent >= 0)


def is_half(tensor: TensorType) -> bool:
    """Whether a tensor is computed in float32, and rounded once, at the end."""
    return computed_in(tensor.dtype) != tensor.dtype


def _array(i: int, tensor: TensorType, shape: str, *, is_input: bool) -> Iterator[str]:
    spelling = "bool_" if tensor.dtype.kind == "b" else tensor.dtype.name
    array = f"carray(data[{i}], ({shape}), np.{spelling})"
    if is_half(tensor):
        yield f"    half{i} = carray(data[{i}], ({shape}), np.uint16)"
        array = f"widen_{tensor.dtype}(half{i})" if is_input else f"np.empty(({shape}), np.float32)"
    yield f"    t{i} = read_only({array})" if is_input and not tensor.mutable else f"    t{i} = {array}"


def _tuple(groups: Sequence[Any]) -> str:
    return "(" + "".join(f"{_tuple(g) if isinstance(g, tuple) else g}, " for g in groups) + ")"


def _keyword(keyword: str, signature: Signature, names: dict[str, Any]) -> str:
    for slot, (name, _) in enumerate(signature.scalars):
        if name == keyword:
            value = f"{'reals' if name in signature.reals else 'integers'}[{slot}]"
            return f"{value} != 0" if name in signature.flags else value
    # numba treats a global of the adapter as a constant.
    names[f"constant_{keyword}"] = dict(signature.constants)[keyword]
    return f"constant_{keyword}"


def _lent(signature: Signature, results: Sequence[Result]) -> int:
    """Return the output whose memory is lent for its result: the first with the most axes; -1 for none."""
    outputs = signature.tensors[signature.n_inputs :]
    axes = [
        0 if not result.is_array or result.is_widened or is_half(tensor) else tensor.ndim
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
    # Store the lent output last, since another result may lie in its memory.
    for k in sorted(range(len(outputs)), key=lambda each: each == lent):
        tensor, result, out = outputs[k], results[k], f"t{signature.n_inputs + k}"
        if tensor.ndim == 0:
            yield f"    {out}[()] = r{k}[()]" if result.is_array else f"    {out}[()] = r{k}"
        elif not result.is_widened:
            yield f"    {'copy_back' if k == lent else 'copy'}({out}, r{k})"
        else:
            # numba compiles `out[...] = r` for longer than most kernels, because of error messages that nobody sees.
            index = ", ".join(f"i{axis}" for axis in range(tensor.ndim))
            for axis in range(tensor.ndim):
                yield f"{'    ' * (axis + 1)}for i{axis} in range({out}.shape[{axis}]):"
            yield f"{'    ' * (tensor.ndim + 1)}{out}[{index}] = r{k}[{index}]"
