import numpy as np


def forward(args, *, p, seed, is_train):
    (x,) = args
    mask = np.ones_like(x)
    if is_train:
        # 53 bits of the hash are a number from 0 to less than 1, exactly.
        state = _mix(np.full(1, seed, np.uint64))
        numbers = np.arange(1, x.size + 1).astype(np.uint64)
        bits = _mix(state + numbers * np.uint64(0x9E3779B97F4A7C15))
        is_kept = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53 >= p
        mask = (is_kept.astype(x.dtype) * (1 / (1 - p))).reshape(x.shape)
    return x * mask, mask


def backward(args):
    mask, dy = args
    return dy * mask


def _mix(z):
    """The output function of SplitMix64: every bit of the result depends on every bit of `z`."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
