"""Operators of models, written as NumPy from their formulas, for ``benchmarks/torch_formulas.py`` and the tests.

A subclass of `Formula` is an operator: the signature of `shapes` gives its inputs and attributes, `forward` and
`backward` are its kernel as it stands, and `write` makes its folder.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_DEFINITION = """
import numpy as np
import pykernels


class Definition(pykernels.CustomOpProp):
    def __init__(self, {attributes}):
        super().__init__()
        self.attributes = {{{given}}}

    def list_arguments(self):
        return {inputs!r}

    def list_outputs(self):
        return {outputs!r}

    def list_gradients(self):
        return {gradients!r}

    def infer_shape(self, in_shape):
        return in_shape, shapes(*in_shape, **self.attributes), []

    def infer_type(self, in_type):
        return in_type, [in_type[0], *[np.int64] * {integers}], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data, *out_data[1:]]


{shapes}"""
_API = """
import pykernels

{name} = pykernels.user_op_builder("{name}").Op("{name}_forward"){outputs}.Function({inputs})
"""


class Formula:
    """An operator. Its gradient gets that of the first output, the inputs, and the other outputs, of int64."""

    outputs: tuple[str, ...] = ("y",)
    #: The inputs that have a gradient.
    gradients: tuple[str, ...] = ("x",)
    shapes: Callable[..., Any]
    forward: Callable[..., Any]
    backward: Callable[..., Any]
    #: Returns inputs of usual sizes.
    sample: Callable[[np.random.Generator], tuple[np.ndarray, ...]]

    @classmethod
    def inputs(cls) -> list[str]:
        """Return the names of the inputs."""
        parameters = inspect.signature(cls.shapes).parameters.values()
        return [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]

    @classmethod
    def write(cls, parent: Path) -> Path:
        """Write the op's folder; return it."""
        inputs, parameters = cls.inputs(), inspect.signature(cls.shapes).parameters.values()
        attributes = {each.name: str(each) for each in parameters if each.kind is each.KEYWORD_ONLY}
        definition = _DEFINITION.format(
            attributes=", ".join(attributes.values()),
            given=", ".join(f"{name!r}: {name}" for name in attributes),
            inputs=inputs,
            outputs=list(cls.outputs),
            gradients=list(cls.gradients),
            integers=len(cls.outputs) - 1,
            shapes=_source(cls.shapes),
        )
        names = ", ".join(f'"{name}"' for name in inputs)
        api = _API.format(
            name=cls.__name__, inputs=names, outputs="".join(f'.Output("{name}")' for name in cls.outputs)
        )
        kernel = "import numpy as np\n\n\n" + "\n\n".join(_source(each) for each in (cls.forward, cls.backward))
        folder = parent / cls.__name__
        folder.mkdir()
        for suffix, text in {"py_def": definition, "py_api": api, "py_kernel": kernel}.items():
            (folder / f"{cls.__name__}_{suffix}.py").write_text(text)
        return folder


def _source(function: Callable[..., Any]) -> str:
    """Return the source of a static method, as a function of a file."""
    return textwrap.dedent(inspect.getsource(function)).removeprefix("@staticmethod\n")


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


class group_norm(Formula):
    gradients = ("x", "weight", "bias")

    @staticmethod
    def shapes(x, weight, bias, *, groups: int = 8, eps: float = 1e-5):
        return [x]

    @staticmethod
    def forward(args, *, groups, eps):
        x, weight, bias = args
        size = x.shape[1] // groups
        g = x.reshape(x.shape[0], groups, size, -1)
        mean = g.mean(axis=(2, 3), keepdims=True)
        var = g.var(axis=(2, 3), keepdims=True)
        y = (g - mean) / np.sqrt(var + eps) * weight.reshape(groups, size, 1) + bias.reshape(groups, size, 1)
        return y.reshape(x.shape)

    @staticmethod
    def backward(args, *, groups, eps):
        dy, x, weight, _ = args
        size = x.shape[1] // groups
        g = x.reshape(x.shape[0], groups, size, -1)
        dy = dy.reshape(g.shape)
        mean = g.mean(axis=(2, 3), keepdims=True)
        scale = 1 / np.sqrt(g.var(axis=(2, 3), keepdims=True) + eps)
        normal = (g - mean) * scale
        dnormal = dy * weight.reshape(groups, size, 1)
        dg = dnormal - dnormal.mean(axis=(2, 3), keepdims=True)
        dg = scale * (dg - normal * (dnormal * normal).mean(axis=(2, 3), keepdims=True))
        dweight, dbias = (dy * normal).sum(axis=(0, 3)), dy.sum(axis=(0, 3))
        return dg.reshape(x.shape), dweight.reshape(-1), dbias.reshape(-1)

    @staticmethod
    def sample(rng):
        return _normal(rng, 8, 64, 32, 32), _normal(rng, 64), _normal(rng, 64)


class rms_norm(Formula):
    gradients = ("x", "weight")

    @staticmethod
    def shapes(x, weight, *, eps: float = 1e-6):
        return [x]

    @staticmethod
    def forward(args, *, eps):
        x, weight = args
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight

    @staticmethod
    def backward(args, *, eps):
        dy, x, weight = args
        scale = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
        normal = x * scale
        dnormal = dy * weight
        dx = scale * (dnormal - normal * (dnormal * normal).mean(axis=-1, keepdims=True))
        return dx, (dy * normal).sum(axis=0)

    @staticmethod
    def sample(rng):
        return _normal(rng, 512, 1024), _normal(rng, 1024)


class rotary_embedding(Formula):
    @staticmethod
    def shapes(x, cos, sin):
        return [x]

    @staticmethod
    def forward(args):
        x, cos, sin = args
        half = x.shape[-1] // 2
        rotated = np.concatenate((-x[..., half:], x[..., :half]), axis=-1)
        return x * cos + rotated * sin

    @staticmethod
    def backward(args):
        dy, x, cos, sin = args
        half = x.shape[-1] // 2
        d = dy * sin
        return dy * cos + np.concatenate((d[..., half:], -d[..., :half]), axis=-1)

    @staticmethod
    def sample(rng):
        angles = np.outer(np.arange(256), 10000 ** (-np.arange(32) / 32))
        angles = np.concatenate((angles, angles), axis=-1)
        return _normal(rng, 4, 8, 256, 64), np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class depthwise_convolution(Formula):
    gradients = ("x", "weight")

    @staticmethod
    def shapes(x, weight):
        return [x]

    @staticmethod
    def forward(args):
        x, weight = args
        around = weight.shape[1] // 2
        padded = np.pad(x, ((0, 0), (0, 0), (around, around)))
        y = np.empty(x.shape, x.dtype)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = np.correlate(padded[i, j], weight[j])
        return y

    @staticmethod
    def backward(args):
        dy, x, weight = args
        around = weight.shape[1] // 2
        padded = np.pad(x, ((0, 0), (0, 0), (around, around)))
        dx, dweight = np.empty(x.shape, x.dtype), np.zeros(weight.shape, x.dtype)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                dx[i, j] = np.convolve(dy[i, j], weight[j])[around : around + x.shape[2]]
                dweight[j] += np.correlate(padded[i, j], dy[i, j])
        return dx, dweight

    @staticmethod
    def sample(rng):
        return _normal(rng, 8, 64, 512), _normal(rng, 64, 7)


class top_k(Formula):
    outputs = ("y", "places")

    @staticmethod
    def shapes(x, *, k: int = 5):
        return [[x[0], k], [x[0], k]]

    @staticmethod
    def forward(args, *, k):
        (x,) = args
        places = np.argpartition(-x, k, axis=-1)[:, :k]
        order = np.argsort(-np.take_along_axis(x, places, axis=-1), axis=-1)
        places = np.take_along_axis(places, order, axis=-1)
        return np.take_along_axis(x, places, axis=-1), places

    @staticmethod
    def backward(args):
        dy, x, places = args
        dx = np.zeros(x.shape, x.dtype)
        np.put_along_axis(dx, places, dy, axis=-1)
        return dx

    @staticmethod
    def sample(rng):
        return (_normal(rng, 256, 1000),)


class segment_sum(Formula):
    @staticmethod
    def shapes(x, segment, *, segments: int = 100):
        return [[segments, *x[1:]]]

    @staticmethod
    def forward(args, *, segments):
        x, segment = args
        y = np.zeros((segments, x.shape[1]), x.dtype)
        np.add.at(y, segment, x)
        return y

    @staticmethod
    def backward(args):
        dy, _, segment = args
        return dy[segment]

    @staticmethod
    def sample(rng):
        return _normal(rng, 10000, 64), rng.integers(0, 100, 10000)


class grid_sample(Formula):
    gradients = ("x", "grid")

    @staticmethod
    def shapes(x, grid):
        return [[*x[:2], *grid[1:3]]]

    @staticmethod
    def forward(args):
        x, grid = args
        n, c, h, w = x.shape
        px, py = ((grid[..., 0] + 1) * w - 1) / 2, ((grid[..., 1] + 1) * h - 1) / 2
        x0, y0 = np.floor(px).astype(np.int64), np.floor(py).astype(np.int64)
        tx, ty = px - x0.astype(x.dtype), py - y0.astype(x.dtype)
        # The four corners around each point.
        ix, iy = np.stack((x0, x0 + 1, x0, x0 + 1)), np.stack((y0, y0, y0 + 1, y0 + 1))
        weight = np.stack(((1 - tx) * (1 - ty), tx * (1 - ty), (1 - tx) * ty, tx * ty))
        weight = np.where((ix >= 0) & (ix < w) & (iy >= 0) & (iy < h), weight, 0)
        place = np.clip(iy, 0, h - 1) * w + np.clip(ix, 0, w - 1)
        corners = np.take_along_axis(x.reshape(1, n, c, h * w), place.reshape(4, n, 1, -1), axis=-1)
        y = (corners * weight.reshape(4, n, 1, -1)).sum(axis=0)
        return y.reshape(n, c, grid.shape[1], grid.shape[2])

    @staticmethod
    def backward(args):
        dy, x, grid = args
        n, c, h, w = x.shape
        px, py = ((grid[..., 0] + 1) * w - 1) / 2, ((grid[..., 1] + 1) * h - 1) / 2
        x0, y0 = np.floor(px).astype(np.int64), np.floor(py).astype(np.int64)
        tx, ty = px - x0.astype(x.dtype), py - y0.astype(x.dtype)
        ix, iy = np.stack((x0, x0 + 1, x0, x0 + 1)), np.stack((y0, y0, y0 + 1, y0 + 1))
        inside = (ix >= 0) & (ix < w) & (iy >= 0) & (iy < h)
        weight = np.where(inside, np.stack(((1 - tx) * (1 - ty), tx * (1 - ty), (1 - tx) * ty, tx * ty)), 0)
        place = (np.clip(iy, 0, h - 1) * w + np.clip(ix, 0, w - 1)).reshape(4, n, 1, -1)
        dy = dy.reshape(n, c, -1)
        dx = np.zeros((n, c, h * w), x.dtype)
        batch, channel = np.arange(n)[:, None, None], np.arange(c)[:, None]
        np.add.at(dx, (batch, channel, place), dy * weight.reshape(4, n, 1, -1))
        corners = np.take_along_axis(x.reshape(1, n, c, h * w), place, axis=-1)
        along = np.where(inside, (dy * corners).sum(axis=2).reshape(ix.shape), 0)
        dpx = (along * np.stack((ty - 1, 1 - ty, -ty, ty))).sum(axis=0) * (w / 2)
        dpy = (along * np.stack((tx - 1, -tx, 1 - tx, tx))).sum(axis=0) * (h / 2)
        return dx.reshape(x.shape), np.stack((dpx, dpy), axis=-1).astype(x.dtype)

    @staticmethod
    def sample(rng):
        return _normal(rng, 2, 16, 64, 64), rng.uniform(-1.1, 1.1, (2, 64, 64, 2)).astype(np.float32)


class cross_entropy(Formula):
    @staticmethod
    def shapes(x, label):
        return [[]]

    @staticmethod
    def forward(args):
        x, label = args
        shifted = x - x.max(axis=1, keepdims=True)
        logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return -logp[np.arange(x.shape[0]), label].mean()

    @staticmethod
    def backward(args):
        dy, x, label = args
        e = np.exp(x - x.max(axis=1, keepdims=True))
        dx = e / e.sum(axis=1, keepdims=True)
        dx[np.arange(x.shape[0]), label] -= 1
        return dx * (dy / x.shape[0])

    @staticmethod
    def sample(rng):
        return _normal(rng, 512, 1000), rng.integers(0, 1000, 512)


#: All operators.
ALL: tuple[type[Formula], ...] = (
    group_norm,
    rms_norm,
    rotary_embedding,
    depthwise_convolution,
    top_k,
    segment_sum,
    grid_sample,
    cross_entropy,
)
