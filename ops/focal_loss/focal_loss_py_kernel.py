import numpy as np

import pykernels


def forward(args, outs, *, alpha, gamma):
    (logits, targets), (loss,) = args, outs
    x, t, y = logits.reshape(logits.size), targets.reshape(logits.size), loss.reshape(logits.size)
    _check(t)
    for i in pykernels.prange(x.size):
        _, wrong, entropy = _terms(x[i] if t[i] == 1 else -x[i])
        weight = alpha if t[i] == 1 else 1 - alpha
        y[i] = weight * wrong**gamma * entropy


def backward(args, outs, *, alpha, gamma):
    (logits, targets, dloss), (dlogits,) = args, outs
    x, t, dy = logits.reshape(logits.size), targets.reshape(logits.size), dloss.reshape(logits.size)
    dx = dlogits.reshape(logits.size)
    _check(t)
    for i in pykernels.prange(x.size):
        right, wrong, entropy = _terms(x[i] if t[i] == 1 else -x[i])
        weight = -alpha if t[i] == 1 else 1 - alpha
        dx[i] = dy[i] * weight * wrong**gamma * (gamma * right * entropy + wrong)


def backward_backward(args, outs, *, alpha, gamma):
    (logits, targets, dloss, gdlogits), (glogits, gdloss) = args, outs
    x, t, dy = logits.reshape(logits.size), targets.reshape(logits.size), dloss.reshape(logits.size)
    g, gx, gdy = gdlogits.reshape(logits.size), glogits.reshape(logits.size), gdloss.reshape(logits.size)
    for i in pykernels.prange(x.size):
        right, wrong, entropy = _terms(x[i] if t[i] == 1 else -x[i])
        scale = g[i] * wrong**gamma
        weight = -alpha if t[i] == 1 else 1 - alpha
        gdy[i] = scale * weight * (gamma * right * entropy + wrong)
        weight = alpha if t[i] == 1 else 1 - alpha
        bend = gamma * (gamma * right - wrong) * entropy + (2 * gamma + 1) * wrong
        gx[i] = scale * dy[i] * weight * right * bend


def tangent(args, outs, *, alpha, gamma):
    # An element of the loss depends on one logit, so the derivative is the same in both directions.
    backward(args, outs, alpha=alpha, gamma=gamma)


def _check(targets):
    wrong = 0
    for i in range(targets.size):
        wrong += targets[i] != 0 and targets[i] != 1
    if wrong:
        raise ValueError("every target must be 0 or 1")


def _terms(z):
    """The probability of the target and that of the other class, and ``-log`` of the first."""
    # exp only ever sees numbers <= 0, so it cannot overflow, and small probabilities keep all their digits.
    e = np.exp(-np.abs(z))
    small, large = e / (1 + e), 1 / (1 + e)
    entropy = np.maximum(-z, 0) + np.log1p(e)
    return (large, small, entropy) if z >= 0 else (small, large, entropy)
