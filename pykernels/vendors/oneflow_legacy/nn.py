"""Define the functions of ``flow.nn`` with their old names and parameters; the parameter `name` is ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.graph import building

Pair = int | Sequence[int]
Padding = str | Sequence[Sequence[int]]


def relu(x: flow.Tensor, name: str | None = None) -> flow.Tensor:
    """Return ``x`` where it is positive, and 0 elsewhere."""
    return flow.relu(x)


def leaky_relu(x: flow.Tensor, alpha: float = 0.2, name: str | None = None) -> flow.Tensor:
    """Return ``x`` where it is positive, and ``alpha * x`` elsewhere."""
    return flow._C.leaky_relu(x, alpha)


def elu(x: flow.Tensor, alpha: float = 1.0, name: str | None = None) -> flow.Tensor:
    """Return ``x`` where it is positive, and ``alpha * (exp(x) - 1)`` elsewhere."""
    return flow._C.elu(x, alpha)


def softmax(logits: flow.Tensor, axis: int = -1, name: str | None = None) -> flow.Tensor:
    """Return the softmax along an axis."""
    return flow.softmax(logits, axis)


def logsoftmax(logits: flow.Tensor, axis: int = -1, name: str | None = None) -> flow.Tensor:
    """Return the logarithm of the softmax along an axis."""
    return flow.log_softmax(logits, axis)


def softmax_cross_entropy_with_logits(labels: flow.Tensor, logits: flow.Tensor, name: str | None = None) -> flow.Tensor:
    """Return the cross-entropy of the softmax along the last axis, for labels that are probabilities.

    The `labels` are the probability of each class; they and the `logits` have the shape (..., classes) and the same
    dtype, the result has the shape (...).
    """
    return flow._C.softmax_cross_entropy(logits, labels)


def sparse_softmax_cross_entropy_with_logits(
    labels: flow.Tensor, logits: flow.Tensor, name: str | None = None
) -> flow.Tensor:
    """Return the cross-entropy of the softmax along the last axis, for labels that are class indices.

    The `labels` are integers of shape (...) or (..., 1), the `logits` have the shape (..., classes), the result (...).
    """
    if labels.dim() == logits.dim():
        labels = labels.squeeze(-1)
    return flow._C.sparse_softmax_cross_entropy(logits, labels)


def dropout(
    x: flow.Tensor, rate: float, noise_shape: None = None, seed: int | None = None, name: str | None = None
) -> flow.Tensor:
    """Set a random fraction `rate` of the elements to 0 and divide the others by ``1 - rate``, in training jobs.

    Other jobs get `x` unchanged. `seed` and `name` are ignored: OneFlow's graphs start with the same random numbers in
    every process.

    Raises
    ------
    CallError
        `rate` is negative or at least 1, or `noise_shape` is given.
    """
    if not 0 <= rate < 1:
        raise CallError(f"flow.nn.dropout: rate must be at least 0 and less than 1, not {rate!r}")
    if noise_shape is not None:
        raise CallError("flow.nn.dropout: noise_shape is not supported")
    if rate == 0 or not building("flow.nn.dropout").training:
        return x
    return flow._C.dropout(x, rate)


def bias_add(
    value: flow.Tensor, bias: flow.Tensor, data_format: str | None = None, name: str | None = None
) -> flow.Tensor:
    """Add a vector along the axis of channels: the second one, or the last with a data format such as "NHWC"."""
    last = data_format is not None and not data_format.startswith("NC")
    return flow._C.bias_add(value, bias, axis=value.dim() - 1 if last else 1)


def conv2d(
    input: flow.Tensor,
    filters: flow.Tensor,
    strides: Pair,
    padding: Padding,
    data_format: str = "NCHW",
    dilations: Pair | None = None,
    groups: int = 1,
    name: str | None = None,
) -> flow.Tensor:
    """Return the two-dimensional convolution.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (batch, channels, height, width).
    filters : Tensor
        A tensor of shape (filters, channels / groups, height, width).
    strides, dilations : int or pair of int
    padding : str or sequence of pairs of int
        ``"VALID"`` means no padding. ``"SAME"`` and ``"SAME_LOWER"`` pad as much as ``ceil(size / stride)`` elements
        of the result need, with the larger half before; ``"SAME_UPPER"`` pads the larger half after. A sequence has
        the padding before and after each of the four axes.
    data_format : str
        Must be ``"NCHW"``.

    Raises
    ------
    CallError
        The padding or the data format is not one of these.
    """
    _check_format("conv2d", data_format)
    strides, dilations = _pair(strides), _pair(dilations or 1)
    pads = _padding("conv2d", padding, input.shape[2:], filters.shape[2:], strides, dilations)
    return flow._C.conv2d(_pad(input, pads, 0.0), filters, None, strides, [0, 0], dilations, groups)


def max_pool2d(
    input: flow.Tensor,
    ksize: Pair,
    strides: Pair,
    padding: Padding,
    data_format: str = "NCHW",
    ceil_mode: bool = False,
    name: str | None = None,
) -> flow.Tensor:
    """Return the maximum of each window of shape `ksize`; other parameters and errors are those of `conv2d`."""
    ksize, strides, pads = _windows("max_pool2d", input, ksize, strides, padding, data_format)
    padded = _pad(input, pads, float("-inf"))
    return flow._C.max_pool2d(padded, ksize, strides, [0, 0], [1, 1], False, ceil_mode, "channels_first")[0]


def avg_pool2d(
    input: flow.Tensor,
    ksize: Pair,
    strides: Pair,
    padding: Padding,
    data_format: str = "NCHW",
    ceil_mode: bool = False,
    name: str | None = None,
) -> flow.Tensor:
    """Return the mean of each window of shape `ksize`, excluding padding; otherwise as `max_pool2d`."""
    ksize, strides, pads = _windows("avg_pool2d", input, ksize, strides, padding, data_format)

    def means(x: flow.Tensor) -> Any:
        padded = _pad(x, pads, 0.0)
        return flow._C.avg_pool2d(padded, ksize, strides, [0, 0], ceil_mode, True, 0, "channels_first")

    if not any(map(any, pads)):
        return means(input)
    return means(input) / means(flow.ones(1, 1, *input.shape[2:], dtype=input.dtype))


def _check_format(name: str, data_format: str) -> None:
    if data_format != "NCHW":
        raise CallError(f"flow.nn.{name}: data_format must be 'NCHW', not {data_format!r}: OneFlow's is on the CPU")


def _pair(value: Pair) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _windows(
    name: str, input: flow.Tensor, ksize: Pair, strides: Pair, padding: Padding, data_format: str
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return the shape, the strides and the padding of a pooling function's windows."""
    _check_format(name, data_format)
    ksize, strides = _pair(ksize), _pair(strides)
    return ksize, strides, _padding(name, padding, input.shape[2:], ksize, strides, [1, 1])


def _padding(
    name: str, padding: Padding, sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Pair
) -> list[tuple[int, int]]:
    """Return the padding before and after each of the last two axes."""
    if not isinstance(padding, str):
        pairs = [(each, each) if isinstance(each, int) else (each[0], each[1]) for each in padding]
        if len(pairs) != 4 or pairs[:2] != [(0, 0), (0, 0)]:
            raise CallError(f"flow.nn.{name}: padding must have a pair for each of four axes, (0, 0) for the first two")
        return pairs[2:]
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0), (0, 0)]
    if kind not in ("SAME", "SAME_LOWER", "SAME_UPPER"):
        raise CallError(f"flow.nn.{name}: padding must be 'SAME', 'SAME_LOWER', 'SAME_UPPER' or 'VALID', not {padding}")
    result = []
    for size, width, stride, dilation in zip(sizes, window, strides, _pair(dilations)):
        needed = max(0, (-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size)
        less, more = needed // 2, needed - needed // 2
        result.append((less, more) if kind == "SAME_UPPER" else (more, less))
    return result


def _pad(x: flow.Tensor, pads: Sequence[tuple[int, int]], value: float) -> Any:
    if not any(map(any, pads)):
        return x
    (top, bottom), (left, right) = pads
    return flow._C.pad(x, [left, right, top, bottom], mode="constant", value=value)
