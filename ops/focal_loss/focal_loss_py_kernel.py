import numpy as np


def forward(args, *, alpha, gamma):
    logits, targets = args
    x, t = logits.reshape(logits.size), targets.reshape(targets.size)
    loss = np.empty_like(x)
    for i in range(x.size):
        _, wrong, entropy = _terms(x[i], t[i])
        weight = alpha if t[i] == 1 else 1 - alpha
        loss[i] = weight * wrong**gamma * entropy
    return loss.reshape(logits.shape)


def backward(args, *, alpha, gamma):
    logits, targets, dloss = args
    x, t, dy = logits.reshape(logits.size), targets.reshape(targets.size), dloss.reshape(dloss.size)
    dx = np.empty_like(x)
    for i in range(x.size):
        right, wrong, entropy = _terms(x[i], t[i])
        weight = -alpha if t[i] == 1 else 1 - alpha
        dx[i] = dy[i] * weight * wrong**gamma * (gamma * right * entropy + wrong)
    return dx.reshape(logits.shape)


def _terms(logit, target):
    """The probability of the target and that of the other class, and ``-log`` of the first."""
    if target != 0 and target != 1:
        raise ValueError("every target must be 0 or 1")
    z = logit if target == 1 else -logit
    # exp only ever sees numbers <= 0, so it cannot overflow, and small probabilities keep all their digits.
    e = np.exp(-np.abs(z))
    small, large = e / (1 + e), 1 / (1 + e)
    entropy = np.maximum(-z, 0) + np.log1p(e)
    if z >= 0:
        return large, small, entropy
    return small, large, entropy
