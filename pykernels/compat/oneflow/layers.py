"""``flow.layers``: layers with variables, which are called by the layer's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow

from pykernels.compat.oneflow import nn, scope
from pykernels.compat.oneflow.missing import missing
from pykernels.compat.oneflow.nn import Padding, Pair
from pykernels.compat.oneflow.variables import get_variable

__all__ = ["conv2d", "dense"]


def dense(
    inputs: flow.Tensor,
    units: int,
    activation: Callable[..., flow.Tensor] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str = "Dense",
) -> flow.Tensor:
    """``activation(x @ weight.T + bias)``, of the variables ``<name>-weight`` and ``<name>-bias``.

    Parameters
    ----------
    inputs : Tensor
        Of shape (..., features).
    units : int
        How many features the result has.
    activation : callable, optional
        It is called with a tensor and ``name="activation"``.
    kernel_initializer, bias_initializer : InitializerConf, optional
        Zeros by default.

    Returns
    -------
    Tensor
        Of shape (..., units).
    """
    features = inputs.shape[-1]
    with scope.namespace(name):
        weight = _variable("weight", (units, features), inputs, kernel_initializer, kernel_regularizer, trainable)
        out = flow.matmul(inputs.reshape(-1, features), weight, transpose_b=True)
        if use_bias:
            bias = _variable("bias", (units,), inputs, bias_initializer, bias_regularizer, trainable)
            out = nn.bias_add(out, bias)
        out = out.reshape(*inputs.shape[:-1], units)
        return out if activation is None else activation(out, name="activation")


def conv2d(
    inputs: flow.Tensor,
    filters: int,
    kernel_size: Pair = 1,
    strides: Pair = 1,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    dilation_rate: Pair | None = None,
    groups: int = 1,
    activation: Callable[..., flow.Tensor] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str = "Conv2d",
    weight_name: str | None = None,
    bias_name: str | None = None,
) -> flow.Tensor:
    """Convolution by `flow.nn.conv2d`, of the variables ``<name>-weight`` and ``<name>-bias``.

    Parameters
    ----------
    inputs : Tensor
        Of shape (batch, channels, height, width).
    filters : int
        How many channels the result has.
    kernel_initializer, bias_initializer : InitializerConf, optional
        ``flow.xavier_uniform_initializer()`` and zeros by default.
    weight_name, bias_name : str, optional
        Other names for the variables.

    Returns
    -------
    Tensor
        Of shape (batch, filters, height, width).
    """
    height, width = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
    shape = (filters, inputs.shape[1] // groups, height, width)
    if kernel_initializer is None:
        kernel_initializer = flow.xavier_uniform_initializer(data_format=data_format)
    weight = _named("weight", weight_name, name, shape, inputs, kernel_initializer, kernel_regularizer, trainable)
    out = nn.conv2d(inputs, weight, strides, padding, data_format, dilation_rate, groups)
    if use_bias:
        bias = _named("bias", bias_name, name, (filters,), inputs, bias_initializer, bias_regularizer, trainable)
        out = nn.bias_add(out, bias, data_format)
    return out if activation is None else activation(out, name="activation")


def _named(kind: str, own_name: str | None, layer: str, *settings: Any) -> flow.Tensor:
    if own_name is not None:
        return _variable(own_name, *settings)
    with scope.namespace(layer):
        return _variable(kind, *settings)


def _variable(
    name: str, shape: tuple[int, ...], inputs: flow.Tensor, initializer: Any, regularizer: Any, trainable: bool
) -> flow.Tensor:
    # A layer's name stands for one layer.
    return get_variable(
        name,
        shape,
        inputs.dtype,
        initializer or flow.zeros_initializer(),
        regularizer,
        trainable=trainable,
        reuse=False,
    )


__getattr__ = missing("flow.layers", __all__)
