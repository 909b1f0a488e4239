import numpy as np

import pykernels


class BatchNorm(pykernels.CustomOpProp):
    arguments = ("x", "gamma", "beta")
    auxiliary_states = ("moving_mean", "moving_var")
    outputs = ("y",)
    backward = "dy, x, gamma, moving_mean, moving_var -> dx, dgamma, dbeta"
    backward_backward = "dy, x, gamma, moving_mean, moving_var, gdx, gdgamma, gdbeta -> gdy, gx, ggamma"
    eps: float = 1e-3
    momentum: float = 0.9
    axis: int = 1

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
