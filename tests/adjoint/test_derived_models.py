"""Derived gradients, second derivatives and tangents of functions as people write models, losses and layers."""

# The functions that are derived are written as kernels are, without types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from gradients import array, check, defined

from pykernels.adjoint.derivation import Call, derive_gradient, derive_tangent

_STEP = 1e-6
SEGMENTS = np.array([0, 1, 1, 0, 2, 2])
# Functions, each with arrays to call it with.
MODELS: dict[Callable[..., Any], tuple[np.ndarray, ...]] = {}


def model(*arrays: np.ndarray) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        MODELS[function] = arrays
        return function

    return add


@model(array(3, 2, 4), array(3, 2, 4))
def dice(args):
    p, t = args
    a, b = p.reshape(len(p), -1), t.reshape(len(t), -1)
    return (2 * (a * b).sum(1) + 1) / (a.sum(1) + b.sum(1) + 1)


@model(array(5), array(5))
def correlation(args):
    a, b = args
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())


@model(array(4, 3), array(4, 3))
def contrastive(args):
    q, k = args
    s = q @ k.T / 0.1
    return -np.diag(s - scipy.special.logsumexp(s, axis=1, keepdims=True)).mean()


@model(array(2, 4, 3, 3), array(4))
def group_norm(args):
    x, g = args
    n, c, h, w = x.shape
    z = x.reshape(n, 2, -1)
    z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
    return z.reshape(n, c, h, w) * g.reshape(1, -1, 1, 1)


@model(array(3, 7))
def local_response_norm(args):
    (x,) = args
    c = np.cumsum(np.pad(x**2, ((0, 0), (2, 2))), axis=1)
    c = np.pad(c, ((0, 0), (1, 0)))
    return x / (2 + 0.1 * (c[:, 5:] - c[:, :-5])) ** 0.75


@model(array(5, 3))
def standardized(args):
    (x,) = args
    return (x - x.mean(0)) / x.std(0, ddof=1) + np.var(x, axis=0, ddof=1, keepdims=True)


@model(array(4, 5, 3), array(2, 5, 3))
def grouped_queries(args):
    q, k = args
    k = np.repeat(k, 2, axis=0)
    return q @ k.transpose(0, 2, 1)


@model(array(2, 3, 4))
def upsampling(args):
    (x,) = args
    return np.repeat(np.repeat(x, 2, axis=-1), 3, axis=-2) + np.tile(x, (1, 3, 2)) + np.tile(x, (2, 3, 2))[:2]


@model(array(2, 4, 3), array(2, 4, 3), array(2, 4, 3))
def linear_attention(args):
    q, k, v = args
    z = 1 / np.einsum("bnd,bd->bn", q, k.sum(axis=1))
    return np.einsum("bnd,bme,bmd,bn->bne", q, v, k, z)


@model(array(4, 3), array(4, 3), array(4, 2))
def causal_linear_attention(args):
    q, k, v = args
    s = np.zeros((k.shape[1], v.shape[1]))
    y = np.empty_like(v)
    for t in range(len(q)):
        s = s + np.outer(k[t], v[t])
        y[t] = q[t] @ s
    return y


@model(array(3, 3))
def einsums(args):
    (x,) = args
    return (
        np.einsum("ij->j", x) * np.einsum("ii", x)
        + np.einsum("ii->i", x)
        + np.einsum("ij,jk", x, x)[0]
        + np.einsum("i...j->...i", x)
    )


@model(array(2, 3, 4), array(3, 2), array(3, 2))
def rotary(args):
    x, c, s = args
    y = np.zeros_like(x)
    a, b = x[..., ::2], x[..., 1::2]
    y[..., ::2] = a * c - b * s
    y[..., 1::2] = a * s + b * c
    return y


@model(array(2, 4, 3), array(3, 2), array(2, 2), array(2))
def recurrent_network(args):
    x, w, u, b = args
    h = np.zeros((x.shape[0], w.shape[1]))
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ w + h @ u + b)
    return h


@model(array(2, 3, 3), array(3, 8))
def lstm(args):
    x, w = args
    n = w.shape[1] // 4
    h = np.zeros((x.shape[0], n))
    c = np.zeros((x.shape[0], n))
    y = np.empty((x.shape[0], x.shape[1], n))
    for t in range(x.shape[1]):
        g = x[:, t] @ w + h.sum()
        c = np.tanh(g[:, :n]) * c + np.tanh(g[:, n : 2 * n]) * np.tanh(g[:, 3 * n :])
        h = np.tanh(g[:, 2 * n : 3 * n]) * np.tanh(c)
        y[:, t] = h
    return y


@model(array(2, 4, 6))
def pooling(args):
    (x,) = args
    n, h, w = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2).mean(axis=(2, 4)) + np.maximum(x[:, ::2, ::2], x[:, 1::2, 1::2])


@model(array(6), SEGMENTS)
def segments(args):
    x, seg = args
    e = np.exp(x - x.max())
    total = np.zeros(3)
    np.add.at(total, seg, e)
    return e / total[seg]


@model(array(6, 2), SEGMENTS)
def sum_of_segments(args):
    x, seg = args
    y = x[:3] * 2
    np.add.at(y, seg, x * x)
    return y


@model(array(3, 4))
def alignment(args):
    (d,) = args
    r = np.full((d.shape[0] + 1, d.shape[1] + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, len(r)):
        for j in range(1, r.shape[1]):
            r[i, j] = d[i - 1, j - 1] - np.log(np.exp(-r[i - 1, j]) + np.exp(-r[i, j - 1]) + np.exp(-r[i - 1, j - 1]))
    return r[-1, -1]


@model(array(4, 3))
def paths_that_are_unlikely(args):
    (p,) = args
    a = np.full(p.shape, -1e30)
    a[0, 0] = p[0, 0]
    for t in range(1, len(p)):
        for s in range(p.shape[1]):
            b = a[t - 1, s]
            if s > 0:
                b = np.logaddexp(b, a[t - 1, s - 1])
            a[t, s] = b + p[t, s]
    return a[-1, -1]


@model(array(3, 3))
def power_iteration(args):
    (a,) = args
    v = np.ones(a.shape[0])
    for _ in range(20):
        v = a.T @ (a @ v)
        v /= np.sqrt(np.sum(v**2))
    return np.sum((a @ v) ** 2)


@model(array(4, 2), array(4))
def returns(args):
    r, g = args
    y = np.zeros_like(r)
    acc = np.zeros(r.shape[1])
    for t in reversed(range(len(r))):
        acc = r[t] + g[t] * acc
        y[t] = acc
    return y


@model(array(5, 4), array(5, 4))
def quaternions(args):
    a, b = args
    w, x, y, z = a.T
    return np.stack([w * b[:, 0] - x * b[:, 1], w * b[:, 1] + y * b[:, 2], z * b[:, 3]], axis=-1)


@model(array(4, 3), array(4, 3))
def cross_products(args):
    u, v = args
    return np.cross(u, np.cross(u, v)) * v


@model(array(3))
def rotation(args):
    (w,) = args
    k = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.eye(3) + k + k @ k


@model(array(4, 2), array(3, 3))
def homogeneous_coordinates(args):
    p, m = args
    q = np.hstack([p, np.ones((len(p), 1))]) @ m.T
    return q[:, :-1] / q[:, -1:] + np.vstack([p, p])[1 : len(p) + 1]


@model(array(2, 3), array(3, 2))
def distances_of_products(args):
    a, b = args
    return np.tensordot(a, b, ([1], [0])) + np.tensordot(a, b, 1) * np.inner(a[0], a[1])


@model(array(3, 4))
def masks(args):
    (x,) = args
    y = np.zeros_like(x)
    y[x > 0.5] = x[x > 0.5] ** 2
    z = x * 1.0
    z[x < 0.4] *= 0.1
    return y + z


@model(array(3, 4))
def piecewise(args):
    (x,) = args
    y = np.empty_like(x)
    pos = x >= 0.5
    y[pos] = 1 / (1 + np.exp(-x[pos]))
    e = np.exp(x[~pos])
    y[~pos] = e / (1 + e)
    return y


@model(array(3, 4))
def choices(args):
    (x,) = args
    return (
        np.select([x < 0.3, x < 0.6], [x, x * x], default=2 * x)
        + np.maximum.reduce([x, 1 - x, x * x])
        + np.add.reduce(x)
    )


@model(array(3, 4))
def stencil(args):
    (x,) = args
    p = np.pad(x, 1, mode="edge")
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] * p[1:-1, 2:] + np.roll(x, (1, 2), axis=(0, 1))


@model(array(3, 4))
def borders(args):
    (x,) = args
    y = np.zeros((x.shape[0] + 2, x.shape[1] + 2))
    y[1:-1, 1:-1] = x
    y[0, 1:-1] = x[0]
    y[1:, 1:] -= np.pad(x, (0, 1), constant_values=2.0)
    return y


@model(array(3, 3))
def norms(args):
    (x,) = args
    return (
        x / np.linalg.norm(x, "fro")
        + np.linalg.norm(x, 3, axis=1, keepdims=True)
        + np.linalg.cholesky(x @ x.T + np.eye(3))
    )


@model(array(3, 4), array(3, 4))
def averages(args):
    x, w = args
    return np.average(x, axis=1, weights=w) * np.average(x, axis=1) + np.ptp(x, axis=1) + np.diff(x, n=2, axis=1)[:, 0]


@model(array(3, 4))
def angles(args):
    (x,) = args
    return np.sinc(x) * np.deg2rad(x) + np.degrees(np.nan_to_num(x)) + np.fliplr(x) * np.flipud(x)


@model(array(3, 4), array(3, 4), array(3, 4))
def least_of_three(args):
    a, b, c = args
    return np.min(np.stack([a, b, c]), axis=0)


@model(array(3, 5))
def deviation(args):
    (x,) = args
    m = np.median(x, axis=1, keepdims=True)
    return np.median(np.abs(x - m), axis=1)


@model(array(2, 3, 5), array(5, 12))
def queries_keys_and_values(args):
    x, w = args
    q, k, v = (x @ w).reshape(2, 3, 3, 4).transpose(2, 0, 1, 3)
    return q * k + v


@pytest.mark.parametrize("function", MODELS, ids=lambda function: function.__name__)
def test_models_have_gradients_second_derivatives_and_tangents(function: Any) -> None:
    arrays, code = MODELS[function], function.__code__
    inputs = list(code.co_varnames[1 : 1 + len(arrays)])
    values = dict(zip(inputs, arrays))
    source = check(function, inputs, (list(arrays), {}))
    gradient = derive_gradient(function, inputs, ["y"], [Call(list(arrays), {})])
    assert gradient.written.source == source
    backward = defined(source.replace("def backward(", "def forward("))
    y = np.asarray(function(tuple(arrays)))
    values |= {"y": y, "dy": np.random.default_rng(0).normal(size=y.shape)}
    taken, by = list(gradient.written.arguments), list(gradient.results)
    call = [values[each] for each in taken]
    check(backward, taken, (call, {}), outputs=by)
    tangents = derive_tangent(backward, taken, by, [Call(call, {})], name="forward", seeds=["dy"]).written
    assert "dy" not in tangents.arguments
    ways = {each[1:]: np.random.default_rng(1).normal(size=values[each[1:]].shape) for each in by}
    values |= {f"t{each}": way for each, way in ways.items()}
    found = defined(tangents.source)(tuple(values[each] for each in tangents.arguments))
    ends = [
        function(tuple(values[each] + sign * _STEP * ways[each] if each in ways else values[each] for each in inputs))
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * _STEP), rtol=2e-5, atol=1e-6)
