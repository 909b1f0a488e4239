"""The operators of the demo as MXNet's own Python custom operators: NumPy code in two callbacks.

This is the code that you write without pykernels. Every call leaves the engine for Python, and copies each array to
NumPy and back.
"""

from __future__ import annotations

import mxnet as mx
import numpy as np


class Elementwise(mx.operator.CustomOpProp):
    """An operator with one input and one output of its shape."""

    def __init__(self, operator):
        super().__init__(need_top_grad=True)
        self._operator = operator

    def list_arguments(self):
        return ["data"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return in_shape, in_shape, []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return self._operator()


class ReLU(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(np.maximum(x, 0)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(np.where(y > 0, dy, 0)))


class LeakyReLU(mx.operator.CustomOp):
    SLOPE = 0.01

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(np.where(x > 0, x, self.SLOPE * x)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, dy = in_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(np.where(x > 0, dy, self.SLOPE * dy)))


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(e / e.sum(axis=-1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
        dx = y * (dy - (y * dy).sum(axis=-1, keepdims=True))
        self.assign(in_grad[0], req[0], mx.nd.array(dx))


class Dense(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        data, weight = in_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(data @ weight.T))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        data, weight, dy = in_data[0].asnumpy(), in_data[1].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(dy @ weight))
        self.assign(in_grad[1], req[1], mx.nd.array(dy.T @ data))


@mx.operator.register("python_relu")
class ReLUProp(Elementwise):
    def __init__(self):
        super().__init__(ReLU)


@mx.operator.register("python_leaky_relu")
class LeakyReLUProp(Elementwise):
    def __init__(self):
        super().__init__(LeakyReLU)


@mx.operator.register("python_softmax")
class SoftmaxProp(Elementwise):
    def __init__(self):
        super().__init__(Softmax)


@mx.operator.register("python_dense")
class DenseProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=True)

    def list_arguments(self):
        return ["data", "weight"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        data, weight = in_shape
        return in_shape, [[data[0], weight[0]]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dense()
