"""Define ``flow.layers``: layers with variables, whose names begin with the name of the layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy import nn, scope
from pykernels.vendors.oneflow_legacy.graph import building
from pykernels.vendors.oneflow_legacy.nn import Padding, Pair
from pykernels.vendors.oneflow_legacy.variables import get_variable
from pykernels.vendors.providing import missing

__all__ = ["batch_normalization", "conv2d", "dense"]


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
    """Return ``activation(x @ weight.T + bias)``, with the variables ``<name>-weight`` and ``<name>-bias``.

    Parameters
    ----------
    inputs : Tensor
        A tensor of shape (..., features).
    units : int
        The number of features of the result.
    activation : callable, optional
        A function that takes a tensor and ``name="activation"``.
    kernel_initializer, bias_initializer : InitializerConf, optional
        Initializers of the variables, by default zeros.

    Returns
    -------
    Tensor
        A tensor of shape (..., units).
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
    """Convolve with `flow.nn.conv2d` and the variables ``<name>-weight`` and ``<name>-bias``.

    Parameters
    ----------
    inputs : Tensor
        A tensor of shape (batch, channels, height, width).
    filters : int
        The number of channels of the result.
    kernel_initializer, bias_initializer : InitializerConf, optional
        Initializers of the variables, by default ``flow.xavier_uniform_initializer()`` and zeros.
    weight_name, bias_name : str, optional
        Other names for the variables.

    Returns
    -------
    Tensor
        A tensor of shape (batch, filters, height, width).
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


def batch_normalization(
    inputs: flow.Tensor,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = None,
    gamma_initializer: Any = None,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    moving_mean_initializer: Any = None,
    moving_variance_initializer: Any = None,
    trainable: bool = True,
    training: bool = True,
    name: str = "BatchNorm",
) -> flow.Tensor:
    """Return the batch normalization ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``.

    A training job uses the `mean` and `variance` of the batch, and updates moving averages of both: ``moving =
    momentum * moving + (1 - momentum) * batch``. Other jobs use the moving averages. The variables are
    ``<name>-gamma``, ``<name>-beta``, ``<name>-moving_mean`` and ``<name>-moving_variance``.

    Parameters
    ----------
    inputs : Tensor
    axis : int
        The axis of the channels.
    center, scale : bool
        Whether to use `beta` and `gamma`.
    beta_initializer, gamma_initializer : InitializerConf, optional
        Initializers of `beta` and `gamma`, by default zeros and ones. The same defaults hold for the initializers of
        the moving mean and variance.
    trainable, training : bool
        If one of them is false, training jobs use the moving averages, too.

    Returns
    -------
    Tensor
        A tensor of the shape of `inputs`.

    Raises
    ------
    CallError
        `inputs` has no such axis, or fewer than two axes.
    """
    graph = building("flow.layers.batch_normalization")
    if not isinstance(axis, int) or not -inputs.dim() <= axis < inputs.dim():
        raise CallError(f"flow.layers.batch_normalization: axis {axis!r} is none of the input's {inputs.dim()} axes")
    axis %= inputs.dim()
    if inputs.dim() < 2:
        raise CallError("flow.layers.batch_normalization: its input must have two axes or more")
    shape = (inputs.shape[axis],)
    ones = flow.ones_initializer()

    def affine(kind: str, has: bool, initializer: Any, regularizer: Any, constant: float) -> Any:
        if has:
            return _variable(kind, shape, inputs, initializer, regularizer, trainable)
        return flow.full(shape, constant, dtype=inputs.dtype)

    with scope.namespace(name):
        beta = affine("beta", center, beta_initializer, beta_regularizer, 0.0)
        gamma = affine("gamma", scale, gamma_initializer or ones, gamma_regularizer, 1.0)
        mean = _variable("moving_mean", shape, inputs, moving_mean_initializer, None, False)
        variance = _variable("moving_variance", shape, inputs, moving_variance_initializer or ones, None, False)
    # OneFlow's CPU kernel terminates the process for other axes. Its momentum is the weight of the batch.
    result = flow._C.normalization(
        inputs.transpose(axis, 1),
        mean,
        variance,
        gamma,
        beta,
        axis=1,
        epsilon=epsilon,
        momentum=1 - momentum,
        is_training=bool(training and trainable and graph.training),
    )
    return result.transpose(axis, 1)


def _named(kind: str, own_name: str | None, layer: str, *settings: Any) -> flow.Tensor:
    if own_name is not None:
        return _variable(own_name, *settings)
    with scope.namespace(layer):
        return _variable(kind, *settings)


def _variable(
    name: str, shape: tuple[int, ...], inputs: flow.Tensor, initializer: Any, regularizer: Any, trainable: bool
) -> flow.Tensor:
    # Without reuse, a second layer with the same name is an error.
    return get_variable(
        name,
        shape,
        inputs.dtype,
        initializer or flow.zeros_initializer(),
        regularizer,
        trainable=trainable,
        reuse=False,
    )


__getattr__ = missing("flow.layers", __all__, __name__)
