import numpy as np

import pykernels


def forward(args, outs, *, p, seed, is_train):
    (x,), (y, mask) = args, outs
    x_flat, y_flat, mask_flat = x.reshape(x.size), y.reshape(x.size), mask.reshape(x.size)
    keep = x.dtype.type(1 / (1 - p) if is_train else 1)
    state = _mix(np.uint64(seed))
    for i in pykernels.prange(x.size):
        # 53 bits of the hash make a number from 0 to less than 1, exactly.
        bits = _mix(state + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15))
        is_kept = not is_train or np.float64(bits >> np.uint64(11)) * 2.0**-53 >= p
        mask_flat[i] = keep if is_kept else 0
        y_flat[i] = x_flat[i] * mask_flat[i]


def backward(args):
    mask, dy = args
    return dy * mask


def _mix(z):
    """The output function of SplitMix64: every bit of the result depends on every bit of `z`."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# Derived from backward by "python -m pykernels derive --forward-mode" (e492ca5f19be). If you edit it, remove this line.
def tangent(args):
    mask, tx = args
    return tx * mask


# Derived from backward by "python -m pykernels derive --second" (e492ca5f19be). If you edit it, remove this line.
def backward_backward(args):
    mask, dy, gdx = args
    gmask = gdx * dy
    gdy = gdx * mask
    return gmask, gdy
