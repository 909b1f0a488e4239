import numpy as np


def forward(args, *, eps):
    x, gamma, beta = args
    centred, rstd = _centred(x, eps)
    return centred * rstd * gamma + beta


def backward(args, *, eps):
    x, gamma, dy = args
    centred, rstd = _centred(x, eps)
    z, g = centred * rstd, dy * gamma
    slope, along = g.mean(axis=-1, keepdims=True), (g * centred).mean(axis=-1, keepdims=True) * rstd
    rows = tuple(range(x.ndim - 1))
    return rstd * (g - slope - along * z), (dy * z).sum(axis=rows), dy.sum(axis=rows)


def _centred(x, eps):
    """Each row without its mean, and the inverse of its standard deviation."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred, 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)


# Derived from backward by "python -m pykernels derive --second" (93f883db8af2). If you edit it, remove this line.
def backward_backward(args, *, eps):
    x, gamma, dy, dx, gdx, gdgamma, gdbeta = args
    centred = x - x.mean(axis=-1, keepdims=True)
    root = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    ratio = gdx / root
    g = dy * gamma
    along = (g * centred).mean(axis=-1, keepdims=True) / root
    dz = gdgamma * dy - ratio * along
    z = centred / root
    term = -np.sum(gdx * (dx / root), axis=-1, keepdims=True)
    total = np.sum(ratio * z, axis=-1, keepdims=True)
    term2 = term - np.sum(dz * (z / root), axis=-1, keepdims=True) + total * (along / root)
    term3 = dz / root + 2 * (term2 * (0.5 / root) / float(x.shape[-1])) * centred
    ratio2 = total / root / float(x.shape[-1])
    product = ratio2 * g
    dcentred = term3 - product
    gx = dcentred + np.mean(product - term3, axis=-1, keepdims=True)
    dg = ratio - ratio2 * centred - np.mean(ratio, axis=-1, keepdims=True)
    ggamma = np.sum(dg * dy, axis=tuple(range(x.ndim - 1)))
    gdy = gdbeta + gdgamma * z + dg * gamma
    return gx, ggamma, gdy


# Derived from backward by "python -m pykernels derive --forward-mode" (93f883db8af2). If you edit it, remove this line.
def tangent(args, *, eps):
    x, gamma, tx, tgamma, tbeta = args
    centred = x - x.mean(axis=-1, keepdims=True)
    root = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    z = centred / root
    ratio = tx / root
    term = ratio - np.sum(ratio * z, axis=-1, keepdims=True) / root / float(x.shape[-1]) * centred
    dg = term - np.mean(ratio, axis=-1, keepdims=True)
    return tbeta + tgamma * z + dg * gamma
