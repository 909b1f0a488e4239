"""The derivatives of functions that move elements: to other axes, to other places, into other arrays."""

from __future__ import annotations

import ast

import numpy as np

from pykernels.adjoint.nodes import Node, Read
from pykernels.adjoint.products import RULES
from pykernels.adjoint.rules import Terms, axis_of, beside, rule
from pykernels.base.errors import KernelError

#: Those of `rules`, of `products` and of this module.
__all__ = ["RULES"]

# ---- the order and number of axes


@rule("transpose permute_dims", "a", "axes")
def _transpose(read: Read, node: Node, g: Node) -> Terms:
    axes = node.arguments.get("axes")
    if axes is None:
        g = read("g.T", g=g)
    elif all(operand.op == "number" for operand in axes.operands):
        back = np.argsort([each % len(axes.operands) for each in axes.values[0]])
        g = read(f"np.transpose(g, {tuple(back.tolist())})", g=g)
    else:
        g = read("np.transpose(g, np.argsort(axes))", g=g, axes=axes)
    yield node.arguments["a"], g


@rule("swapaxes", "a", "axis1", "axis2")
def _swapaxes(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.swapaxes(g, axis1, axis2)", g=g, **_rest(node))


@rule("moveaxis", "a", "source", "destination")
def _moveaxis(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.moveaxis(g, destination, source)", g=g, **_rest(node))


@rule("squeeze", "a", "axis")
def _squeeze(read: Read, node: Node, g: Node) -> Terms:
    if "axis" in node.arguments:
        yield node.arguments["a"], read("np.expand_dims(g, axis)", g=g, axis=node.arguments["axis"])
    else:
        yield from _reshape(read, node, g)


@rule("expand_dims", "a", "axis")
def _expand_dims(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], read("np.squeeze(g, axis)", g=g, **_rest(node))


@rule("reshape ravel flatten", "a", "*")
def _reshape(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    made = a.made_as
    if made.op == "reshape" and isinstance(made.form, ast.Call) and isinstance(made.form.func, ast.Attribute):
        lengths = dict(zip("bcdefhijk", made.operands[1:]))
        yield a, read(f"g.reshape({', '.join(lengths)})", g=g, **lengths)
    else:
        yield a, read("g.reshape(a.shape)", g=g, a=made)


@rule("flip", "a", "axis")
def _flip(read: Read, node: Node, g: Node) -> Terms:
    keywords = ", axis=axis" if "axis" in node.arguments else ""
    yield node.arguments["a"], read(f"np.flip(g{keywords})", g=g, **_rest(node))


@rule("roll", "a", "shift", "axis")
def _roll(read: Read, node: Node, g: Node) -> Terms:
    keywords, shift = ", axis=axis" if "axis" in node.arguments else "", node.arguments["shift"]
    parts = {f"s{at}": each for at, each in enumerate(shift.operands)} if shift.op == "tuple" else {}
    back = f"({', '.join(f'-{name}' for name in parts)},)" if parts else "-shift"
    yield node.arguments["a"], read(f"np.roll(g, {back}{keywords})", g=g, **_rest(node), **parts)


def _rest(node: Node) -> dict[str, Node]:
    return {name: value for name, value in node.arguments.items() if name != "a"}


@rule("broadcast_to", "a", "shape")
def _broadcast_to(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], g


# ---- along an axis


@rule("cumsum add.accumulate", "a", "axis")
def _cumsum(read: Read, node: Node, g: Node) -> Terms:
    yield node.arguments["a"], _sums_behind(read, g, axis_of(read, node))


def _sums_behind(read: Read, g: Node, axis: Node) -> Node:
    """Return for each element the sum of it and those behind it."""
    return read("np.flip(np.cumsum(np.flip(g, axis), axis), axis)", g=g, axis=axis)


@rule("cumprod multiply.accumulate", "a", "axis")
def _cumprod(read: Read, node: Node, g: Node) -> Terms:
    """Divide the products behind an element by it; the first 0 is left out of them instead."""
    a, axis = node.arguments["a"], axis_of(read, node)
    is_zero = read("a == 0", a=a)
    is_first = read("is_zero & (np.cumsum(is_zero, axis) == 1)", is_zero=is_zero, axis=axis)
    others = read("np.cumprod(np.where(is_first, 1, a), axis)", is_first=is_first, a=a, axis=axis)
    for name, each in (("is_zero", is_zero), ("is_first", is_first)):
        each.name = each.name or name
    yield (
        a,
        read(
            "np.where(is_first, by_others, behind / np.where(is_zero, 1, a))",
            is_first=is_first,
            is_zero=is_zero,
            a=a,
            behind=_sums_behind(read, read("g * y", g=g, y=node), axis),
            by_others=_sums_behind(read, read("g * others", g=g, others=others), axis),
        ),
    )


@rule("diff", "a", "n", "axis")
def _diff(read: Read, node: Node, g: Node) -> Terms:
    at = node.arguments["axis"].number if "axis" in node.arguments else -1
    if "n" in node.arguments or not isinstance(at, int):
        raise KernelError("np.diff has a derived gradient for n and an axis that are written in place")
    before, after = beside(at)
    first, inner = f"-g[{before}:1{after}]", f"g[{before}:-1{after}] - g[{before}1:{after}]"
    last = f"g[{before}-1:{after}]"
    yield node.arguments["a"], read(f"np.concatenate(({first}, {inner}, {last}), axis={at})", g=g)


@rule("repeat", "a", "repeats", "axis")
def _repeat(read: Read, node: Node, g: Node) -> Terms:
    a, repeats, axis = (node.arguments.get(name) for name in ("a", "repeats", "axis"))
    assert a is not None and repeats is not None
    at = -1 if axis is None else axis.number
    if any(np.ndim(value) for value in repeats.values) or not isinstance(at, int):
        raise KernelError(
            "np.repeat has a derived gradient for a number of repeats, along an axis that is written in place"
        )
    # The copies of an element lie side by side.
    end, along = ("", -1) if at == -1 else (str(at + 1), at + 1 if at >= 0 else at)
    shape = f"a.shape[:{end}] + (repeats,) + a.shape[{end}:]" if end else "a.shape + (repeats,)"
    yield a, read(f"np.sum(g.reshape({shape}), axis={along})", a=a, g=g, repeats=repeats)


@rule("tile", "a", "reps")
def _tile(read: Read, node: Node, g: Node) -> Terms:
    a, reps = node.arguments["a"], node.arguments["reps"]
    if len(a.ndims) > 1 or 0 in a.ndims or (reps.op != "tuple" and reps.ndims != {0}):
        raise KernelError("np.tile has a derived gradient for arrays of one number of axes, with numbers in place")
    (ndim,) = a.ndims
    times = list(reps.operands) if reps.op == "tuple" else [reps]
    names = {f"n{at}": each for at, each in enumerate(times)}
    lengths = [f"a.shape[{at}]" for at in range(ndim)]
    parts: list[str] = []
    folded: list[int] = []
    for at in range(-max(ndim, len(times)), 0):  # from the last axis, as NumPy does
        if -at <= len(times):
            folded.append(len(parts))
            parts.append(f"n{len(times) + at}")
        if -at <= ndim:
            parts.append(lengths[at])
    axes = tuple(folded) if len(folded) > 1 else folded[0]
    yield a, read(f"np.sum(g.reshape({', '.join(parts)}), axis={axes})", a=a, g=g, **names)


@rule("diag", "v", "k")
def _diag(read: Read, node: Node, g: Node) -> Terms:
    v, k = node.arguments["v"], node.arguments.get("k")
    is_square = v.ndims == {1} or (v.ndims == {2} and all(n == m for n, m in v.shapes))
    if not is_square or (k is not None and k.number != 0):
        raise KernelError("np.diag has a derived gradient for vectors and square matrices, without k")
    yield v, read("np.diag(g)", g=g)


@rule("tril triu", "a", "k")
def _triangle(read: Read, node: Node, g: Node) -> Terms:
    k = ", k" if "k" in node.arguments else ""
    yield node.arguments["a"], read(f"np.{node.op}(g{k})", g=g, **_rest(node))


@rule("concatenate", "arrays", "axis")
def _concatenate(read: Read, node: Node, g: Node) -> Terms:
    arrays, axis = node.arguments["arrays"], node.arguments.get("axis", read("0"))
    if not isinstance(axis.number, int) or arrays.op != "tuple":
        raise KernelError("np.concatenate has a derived gradient if its arrays and its axis are written in place")
    before, after = beside(axis.number)
    *others, last = arrays.operands
    begin: dict[str, Node] = {}
    for each in others:
        end = read("begin + length" if begin else "length", length=read("a.shape[axis]", a=each, axis=axis), **begin)
        yield each, read(f"g[{before}{'begin' if begin else ''}:end{after}]", g=g, end=end, **begin)
        begin = {"begin": end}
    yield last, read(f"g[{before}begin:{after}]", g=g, **begin) if begin else g


@rule("stack", "arrays", "axis")
def _stack(read: Read, node: Node, g: Node) -> Terms:
    arrays, axis = node.arguments["arrays"], node.arguments.get("axis", read("0"))
    if not isinstance(axis.number, int) or arrays.op != "tuple":
        raise KernelError("np.stack has a derived gradient if its arrays and its axis are written in place")
    before, after = beside(axis.number)
    for at, each in enumerate(arrays.operands):
        yield each, read(f"g[{before}{at}{after}]", g=g)


@rule("take", "a", "indices", "axis")
def _take(read: Read, node: Node, g: Node) -> Terms:
    raise KernelError("np.take has a derived gradient along an axis that is written in place")


@rule("take_along_axis", "a", "indices", "axis")
def _take_along_axis(read: Read, node: Node, g: Node) -> Terms:
    a, indices = node.arguments["a"], node.arguments["indices"]
    if axis_of(read, node).number != -1 or any(shape[-1] != 1 for shape in indices.shapes):
        raise KernelError(
            "np.take_along_axis has a derived gradient along an axis that is written in place, for one number of axes"
        )
    yield a, read("np.where(np.arange(a.shape[-1]) == indices % a.shape[-1], g, 0)", a=a, indices=indices, g=g)


@rule("sliding_window_view", "a", "window_shape", "axis")
def _sliding_window_view(read: Read, node: Node, g: Node) -> Terms:
    """Add up what each element has in all of its windows."""
    a = node.arguments["a"]
    names = {name: each for name, each in node.arguments.items() if name != "a"}
    parameters = ", ".join(["np.arange(a.size).reshape(a.shape)", *names])
    places = read(f"np.lib.stride_tricks.sliding_window_view({parameters})", a=a, **names)
    places.name = places.name or "places"
    sums = "np.bincount(places.ravel(), g.ravel(), a.size)"
    yield a, read(f"{sums}.reshape(a.shape).astype(a.dtype)", a=a, g=g, places=places)


@rule("bincount", "places", "weights", "minlength")
def _bincount(read: Read, node: Node, g: Node) -> Terms:
    if "weights" in node.arguments:
        yield node.arguments["weights"], read("g[places]", g=g, places=node.arguments["places"])


@rule("sort", "a", "axis")
def _sort(read: Read, node: Node, g: Node) -> Terms:
    a, axis = node.arguments["a"], node.arguments.get("axis", read("-1"))
    order = read("np.argsort(a, axis=axis, kind='stable')", a=a, axis=axis)
    places = read("np.argsort(order, axis=axis)", order=order, axis=axis)
    yield a, read("np.take_along_axis(g, places, axis=axis)", g=g, places=places, axis=axis)


@rule("partition", "a", "kth", "axis")
def _partition(read: Read, node: Node, g: Node) -> Terms:
    raise KernelError("np.partition has no derived gradient, since it leaves open where elements go; write np.sort")


@rule("median", "a", "axis", "keepdims")
def _median(read: Read, node: Node, g: Node) -> Terms:
    raise KernelError("np.median has a derived gradient of all elements, or along an axis that is written in place")


@rule("pad", "a", "pad_width", "mode", "constant_values")
def _pad(read: Read, node: Node, g: Node) -> Terms:
    a, widths = node.arguments["a"], node.arguments["pad_width"]
    pairs = widths.operands
    mode = node.arguments["mode"].values[0] if "mode" in node.arguments else "constant"
    is_known = widths.op == "tuple" and all(pair.op == "tuple" and len(pair.operands) == 2 for pair in pairs)
    if not is_known or mode != "constant" or node.arguments.get("constant_values", widths).active:
        raise KernelError(
            "np.pad has a derived gradient with a pair of widths for every axis, for numbers and the modes edge, "
            "reflect, symmetric and wrap"
        )
    names, slices = {"a": a, "g": g}, []
    for at, pair in enumerate(pairs):
        names[f"begin{at}"] = pair.operands[0]
        whole = all(width.number == 0 for width in pair.operands)
        slices.append(":" if whole else f"begin{at} : begin{at} + a.shape[{at}]")
    yield a, read(f"g[{', '.join(slices)}]", **names)
