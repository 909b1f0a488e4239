import numpy as np

import pykernels


class BatchNorm(pykernels.CustomOpProp):
    def __init__(self, eps: float = 1e-3, momentum: float = 0.9, axis: int = 1):
        super().__init__(need_top_grad=True)
        self.axis = axis

    def list_arguments(self):
        return ["x", "gamma", "beta"]

    def list_auxiliary_states(self):
        return ["moving_mean", "moving_var"]

    def list_outputs(self):
        return ["y"]

    def infer_shape(self, in_shape):
        x = in_shape[0]
        if not -len(x) <= self.axis < len(x):
            raise ValueError(f"axis {self.axis} is not one of the {len(x)} axes of x")
        channels = [x[self.axis]]
        return [x, channels, channels], [x], [channels, channels]

    def infer_type(self, in_type):
        dtype = np.dtype(in_type[0])
        if dtype.kind != "f":
            raise ValueError(f"x must be floating point, not {dtype}")
        return [dtype] * 3, [dtype], [dtype] * 2

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        x, gamma, _ = in_data
        return [*out_grad, x, gamma]
