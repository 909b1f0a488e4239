"""Operators as users write them for ``mx.operator.register``."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np

import pykernels


class Sigmoid(mx.operator.CustomOp):
    """Keeps what it needs on itself, and fails where it is told to."""

    def __init__(self, fails: str) -> None:
        super().__init__()
        self.fails = fails

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        if self.fails == "forward":
            raise ValueError("no such luck")
        if self.fails == "unassigned":
            return
        self.y = 1 / (1 + mx.nd.exp(-in_data[0]))
        self.assign(out_data[0], req[0], self.y)

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        if self.fails == "backward":
            raise ValueError("no way back")
        self.assign(in_grad[0], req[0], out_grad[0] * self.y * (1 - self.y))


@pykernels.register("cls_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def __init__(self, fails: str = "") -> None:
        super().__init__(need_top_grad=True)
        if fails == "constructor":
            raise ValueError("not made")
        self.fails = fails

    def infer_shape(self, in_shape: Any) -> Any:
        if self.fails == "infer_shape":
            return in_shape[7]
        if self.fails == "few shapes":
            return in_shape, [], []
        if self.fails == "text for a shape":
            return in_shape, ["three"], []
        if self.fails == "another input":
            return [[7, 7]], [[7, 7]], []
        if self.fails == "smaller output":
            return in_shape, [[1]], []
        return in_shape, [in_shape[0]], []

    def infer_type(self, in_type: Any) -> Any:
        if self.fails == "infer_type":
            raise TypeError("not of this type")
        if self.fails == "text for a type":
            return in_type, ["vermilion"], []
        return in_type, [in_type[0]], []

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
        return out_grad if self.fails != "dependency" else [99]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        if self.fails == "create_operator":
            raise RuntimeError("cannot create")
        return None if self.fails == "nothing created" else Sigmoid(self.fails)


class SoftmaxLoss(mx.operator.CustomOp):
    """A loss with labels, which ignores the gradient from above."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        x = in_data[0].asnumpy()
        e = np.exp(x - x.max(axis=1, keepdims=True))
        out_data[0][:] = e / e.sum(axis=1, keepdims=True)

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        labels = in_data[1].asnumpy().astype(int)
        dx = out_data[0].asnumpy()
        dx[np.arange(len(labels)), labels] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(self.scale * dx))


@pykernels.register("cls_loss")
class SoftmaxLossProp(mx.operator.CustomOpProp):
    def __init__(self, scale: str = "1.0") -> None:
        super().__init__(need_top_grad=False)
        assert isinstance(scale, str)
        self.scale = float(scale)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return SoftmaxLoss(self.scale)


class Anchors(mx.operator.CustomOp):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        assert in_data == []
        self.assign(out_data[0], req[0], mx.nd.arange(self.size))
        self.assign(out_data[1], req[1], mx.nd.ones(2) * self.size)


@pykernels.register("cls_anchors")
class AnchorsProp(mx.operator.CustomOpProp):
    """No inputs, two outputs of different types."""

    def __init__(self, size: str) -> None:
        super().__init__(need_top_grad=False)
        self.size = int(size)

    def list_arguments(self) -> list[str]:
        return []

    def list_outputs(self) -> list[str]:
        return ["anchors", "sizes"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [], [(self.size,), (2,)], []

    def infer_type(self, in_type: Any) -> Any:
        return [], [np.float32, np.int32], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Anchors(self.size)


class Count(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        if is_train:
            aux[0][:] += 1
        self.assign(out_data[0], req[0], in_data[0] + aux[0])

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * aux[0])


@pykernels.register("cls_count")
class CountProp(mx.operator.CustomOpProp):
    """An auxiliary state."""

    def list_auxiliary_states(self) -> list[str]:
        return ["calls"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, in_shape, [(1,)]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Count()


class Forgetful(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])


@pykernels.register("cls_forgetful")
class ForgetfulProp(mx.operator.CustomOpProp):
    """Its backward reads what it has not declared, if so told, and assigns one gradient of two."""

    def __init__(self, declares: str = "yes") -> None:
        super().__init__()
        self.declares = declares == "yes"

    def list_arguments(self) -> list[str]:
        return ["a", "b"]

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
        return [*out_grad, in_data[1]] if self.declares else out_grad

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Forgetful()
