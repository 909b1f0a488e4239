"""Ops written from textbooks, and mistakes in them: each is one change of a text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from textwrap import indent

_DEFINITION = """\
import numpy as np
import pykernels


class Textbook(pykernels.CustomOpProp):
    def __init__(self{attributes}):
        super().__init__()
        self.__dict__.update({{k: v for k, v in locals().items() if k != "self"}})

    def list_arguments(self):
        return {inputs}

    def list_outputs(self):
        return {outputs}

    def list_gradients(self):
        return {gradients}

    def infer_shape(self, in_shape):
        {unpacked}, = in_shape
{shape}

    def infer_type(self, in_type):
        for dtype, kind in zip(in_type, {kinds}):
            if dtype is not None and np.dtype(dtype).kind not in kind:
                raise ValueError(f"an input cannot be {{dtype}}")
        assert len({{np.dtype(t) for t in in_type if t is not None and np.dtype(t).kind == "f"}}) < 2
        return in_type, [in_type[0] if kind == "f" else kind for kind in {types}], []
"""


@dataclass(frozen=True)
class Op:
    """An op: the last line of each body is what it returns."""

    forward: str
    backward: str = ""
    #: Names, each with the kinds of its dtypes if it is not floating point.
    inputs: str = "x"
    #: Names, each with its dtype if that is not the one of the first input.
    outputs: str = "y"
    attributes: str = ""
    #: The body of a function of the inputs' shapes, which returns the outputs'.
    shape: str = "return in_shape, in_shape[:1] * len(self.list_outputs()), []"
    #: The samples of the API file, if it takes certain numbers alone.
    sample: str = ""

    def write(self, parent: Path, name: str) -> Path:
        """Write the folder of the op, and return it."""
        folder = parent / name
        folder.mkdir(parents=True)
        inputs, kinds = _named(self.inputs)
        outputs, types = _named(self.outputs)
        keywords = "".join(f", {each.partition(':')[0].strip()}" for each in self.attributes.split(",") if each)
        texts = {
            "py_def": _DEFINITION.format(
                attributes=f", {self.attributes}" if keywords else "",
                inputs=inputs,
                unpacked=", ".join(inputs),
                outputs=outputs,
                gradients=[name for name, kind in zip(inputs, kinds) if kind == "f"] if self.backward else [],
                shape=indent(self.shape, " " * 8),
                kinds=kinds,
                types=types,
            ),
            "py_kernel": "".join(_kernel(self, inputs, outputs, f", *{keywords}" if keywords else "")),
            "py_api": f"import numpy as np\n\n\ndef sample_inputs(elements, dtype):\n    return {self.sample}\n"
            if self.sample
            else "",
        }
        for part, text in texts.items():
            (folder / f"{name}_{part}.py").write_text(text)
        return folder


def _named(names: str) -> tuple[list[str], list[str]]:
    """Return names, and the text behind the colon of each."""
    pairs = [each.strip().partition(":") for each in names.split(",")]
    return [name for name, _, _ in pairs], [kind or "f" for _, _, kind in pairs]


def with_mistake(op: Op, part: str, instead: str) -> Op:
    """Return an op with another text in place of a part of its own."""
    texts = {each.name: getattr(op, each.name) for each in fields(op)}
    assert any(part in text for text in texts.values())
    return Op(**{name: text.replace(part, instead) for name, text in texts.items()})


def _kernel(op: Op, inputs: list[str], outputs: list[str], keywords: str) -> Iterator[str]:
    slopes = [f"d{name}" for name in outputs]
    yield "import numpy as np\n"
    for name, names, body in (("forward", inputs, op.forward), ("backward", slopes + inputs + outputs, op.backward)):
        if body:
            *lines, last = body.strip().splitlines()
            lines = [f"{', '.join(names)}, = args", *lines, f"return {last}"]
            yield f"\n\ndef {name}(args{keywords}):\n" + indent("\n".join(lines), "    ") + "\n"


def _rows(results: str = "x[:-1]") -> str:
    """The shape of what has one number for each row."""
    return f"assert len(x) > 0 and x[-1] > 0\nreturn in_shape, [{results}], []"


def _drawn(**shapes: tuple[int, ...]) -> str:
    """The text of samples with these shapes."""
    arrays = (
        f"'{name}': np.sin(np.arange(7.0, 7.0 + {math.prod(shape)})).astype(dtype).reshape({shape})"
        for name, shape in shapes.items()
    )
    return f"{{{', '.join(arrays)}}}"


_SAME = "return in_shape[:1] * len(in_shape), in_shape[:1], []"
_POSITIVE = "{'x': np.linspace(0.1, 3, max(1, elements)).astype(dtype)}"
_UNIT = "{'x': np.linspace(0.05, 0.95, max(1, elements)).astype(dtype)}"

#: Ops without a mistake.
RIGHT = {
    # activations
    "mish": Op(
        "x * np.tanh(np.logaddexp(0, x))",
        "t = np.tanh(np.logaddexp(0, x))\ndy * (t + x * (1 - t * t) / (1 + np.exp(-x)))",
    ),
    "gelu": Op(
        "0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))",
        "t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))\n"
        "dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 0.134145 * x**2))",
    ),
    "silu": Op("x / (1 + np.exp(-x))", "s = 1 / (1 + np.exp(-x))\ndy * s * (1 + x * (1 - s))"),
    "softplus": Op("np.logaddexp(0, x)", "dy / (1 + np.exp(-x))"),
    "elu": Op(
        "np.where(x > 0, x, alpha * np.expm1(x))",
        "np.where(x > 0, dy, dy * alpha * np.exp(np.minimum(x, 0)))",
        attributes="alpha: float = 1.0",
    ),
    "softsign": Op("x / (1 + np.abs(x))", "dy / (1 + np.abs(x)) ** 2"),
    "hardswish": Op(
        "x * np.clip(x + 3, 0, 6) / 6",
        "np.where(x <= -3, 0 * dy, np.where(x >= 3, dy, dy * (2 * x + 3) / 6))",
    ),
    "relu6": Op("np.minimum(np.maximum(x, 0), 6)", "dy * ((x > 0) & (x < 6))"),
    "hardtanh": Op(
        "np.clip(x, low, high)",
        "np.where((x > low) & (x < high), dy, 0 * dy)",
        attributes="low: float = -1.0, high: float = 1.0",
        shape="assert self.low < self.high\nreturn in_shape, in_shape, []",
    ),
    "log_sigmoid": Op("-np.logaddexp(0, -x)", "dy / (1 + np.exp(x))"),
    "tanhshrink": Op("x - np.tanh(x)", "dy * np.tanh(x) ** 2"),
    "softshrink": Op(
        "np.sign(x) * np.maximum(np.abs(x) - size, 0)",
        "dy * (np.abs(x) > size)",
        attributes="size: float = 0.5",
        shape="assert self.size >= 0\nreturn in_shape, in_shape, []",
    ),
    "snake": Op(
        "x + np.sin(a * x) ** 2 / a",
        "dy * (1 + np.sin(2 * a * x))",
        attributes="a: float = 1.0",
        shape="assert self.a != 0\nreturn in_shape, in_shape, []",
    ),
    "logit": Op("np.log(x) - np.log1p(-x)", "dy / (x * (1 - x))", sample=_UNIT),
    "entropy": Op("-x * np.log(x)", "-dy * (np.log(x) + 1)", sample=_POSITIVE),
    "square_root": Op("np.sqrt(x)", "dy / (2 * y)", sample=_POSITIVE),
    "sinc": Op(
        "np.sinc(x)",
        "small = np.abs(x) < 1e-2\nt = np.pi * np.where(small, 1, x)\n"
        "dy * np.where(small, -(np.pi**2) * x / 3, np.pi * (np.cos(t) / t - np.sin(t) / t**2))",
    ),
    # of two tensors
    "maximum": Op("np.maximum(x, w)", "dy * (x >= w), dy * (x < w)", "x, w", shape=_SAME),
    "hypot": Op("np.hypot(x, w)", "r = y + (y == 0)\ndy * x / r, dy * w / r", "x, w", shape=_SAME),
    "swiglu": Op(
        "x / (1 + np.exp(-x)) * w",
        "s = 1 / (1 + np.exp(-x))\ndy * w * s * (1 + x * (1 - s)), dy * x * s",
        "x, w",
        shape=_SAME,
    ),
    "prelu": Op(
        "np.where(x > 0, x, w * x)",
        "np.where(x > 0, dy, w * dy), (dy * np.minimum(x, 0)).reshape(-1, w.size).sum(axis=0)",
        "x, w",
        shape="assert len(x) > 1 and w == x[-1:] and x[-1] > 0\nreturn in_shape, [x], []",
        sample=_drawn(x=(4, 3), w=(3,)),
    ),
    "huber": Op(
        "e = x - w\na = np.abs(e)\nnp.where(a < delta, 0.5 * e * e, delta * (a - 0.5 * delta))",
        "g = dy * np.clip(x - w, -delta, delta)\ng, -g",
        "x, w",
        attributes="delta: float = 1.0",
        shape=f"assert self.delta > 0\n{_SAME}",
    ),
    "absolute_error": Op("np.abs(x - w)", "g = dy * np.sign(x - w)\ng, -g", "x, w", shape=_SAME),
    "bce_with_logits": Op(
        "np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))",
        "dy * (1 / (1 + np.exp(-x)) - t), -dy * x",
        "x, t",
        shape=_SAME,
    ),
    "lerp": Op("x + t * (w - x)", "dy * (1 - t), dy * t, dy * (w - x)", "x, w, t", shape=_SAME),
    # along rows
    "softmax": Op(
        "e = np.exp(x - x.max(axis=-1, keepdims=True))\ne / e.sum(axis=-1, keepdims=True)",
        "y * (dy - (dy * y).sum(axis=-1, keepdims=True))",
        shape=_rows("x"),
    ),
    "log_softmax": Op(
        "z = x - x.max(axis=-1, keepdims=True)\nz - np.log(np.exp(z).sum(axis=-1, keepdims=True))",
        "dy - np.exp(y) * dy.sum(axis=-1, keepdims=True)",
        shape=_rows("x"),
    ),
    "logsumexp": Op(
        "m = x.max(axis=-1)\nm + np.log(np.exp(x - m[..., None]).sum(axis=-1))",
        "dy[..., None] * np.exp(x - y[..., None])",
        shape=_rows(),
    ),
    "norm": Op(
        "np.sqrt((x * x).sum(axis=-1))",
        "dy[..., None] * x / (y + (y == 0))[..., None]",
        shape=_rows(),
    ),
    "row_max": Op(
        "x.max(axis=-1)",
        "np.where(np.arange(x.shape[-1]) == x.argmax(axis=-1)[..., None], dy[..., None], 0 * x)",
        shape=_rows(),
    ),
    "top_k": Op(
        "i = np.argsort(-x, axis=-1, kind='stable')[..., :k]\nnp.take_along_axis(x, i, axis=-1), i.astype(np.int64)",
        "g = np.zeros_like(x)\nnp.put_along_axis(g, i, dy, axis=-1)\ng",
        outputs="y, i:int64",
        attributes="k: int = 2",
        shape="assert len(x) > 0 and 0 < self.k <= x[-1]\nreturn in_shape, [[*x[:-1], self.k]] * 2, []",
    ),
    "sort": Op(
        "np.sort(x, axis=-1)",
        "g = np.empty_like(x)\nnp.put_along_axis(g, np.argsort(x, axis=-1, kind='stable'), dy, axis=-1)\ng",
        shape=_rows("x"),
    ),
    "median_of_three": Op(
        "np.sort(x, axis=-1)[..., 1]",
        "i = np.argsort(x, axis=-1, kind='stable')[..., 1:2]\nnp.where(np.arange(3) == i, dy[..., None], 0 * x)",
        shape="assert len(x) > 0 and x[-1] == 3\nreturn in_shape, [x[:-1]], []",
        sample=_drawn(x=(4, 3)),
    ),
    "cumsum": Op("np.cumsum(x, axis=-1)", "np.cumsum(dy[..., ::-1], axis=-1)[..., ::-1]", shape=_rows("x")),
    "variance": Op(
        "((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1)",
        "2 * dy[..., None] * (x - x.mean(axis=-1, keepdims=True)) / x.shape[-1]",
        shape=_rows(),
    ),
    "layer_norm": Op(
        "c = x - x.mean(axis=-1, keepdims=True)\n"
        "c / np.sqrt((c * c).mean(axis=-1, keepdims=True) + eps) * gamma + beta",
        "c = x - x.mean(axis=-1, keepdims=True)\n"
        "r = 1 / np.sqrt((c * c).mean(axis=-1, keepdims=True) + eps)\nn = c * r\ng = dy * gamma\n"
        "dx = r * (g - g.mean(axis=-1, keepdims=True) - n * (g * n).mean(axis=-1, keepdims=True))\n"
        "dx, (dy * n).reshape(-1, gamma.size).sum(axis=0), dy.reshape(-1, gamma.size).sum(axis=0)",
        "x, gamma, beta",
        attributes="eps: float = 1e-5",
        shape="assert len(x) > 0 and x[-1] > 0 and gamma == beta == x[-1:] and self.eps > 0\nreturn in_shape, [x], []",
        sample=_drawn(x=(4, 3), gamma=(3,), beta=(3,)),
    ),
    "rms_norm": Op(
        "x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * gamma",
        "r = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)\ng = dy * gamma\n"
        "r * g - x * r**3 * (g * x).mean(axis=-1, keepdims=True), (dy * x * r).reshape(-1, gamma.size).sum(axis=0)",
        "x, gamma",
        shape="assert len(x) > 0 and x[-1] > 0 and gamma == x[-1:]\nreturn in_shape, [x], []",
        sample=_drawn(x=(4, 3), gamma=(3,)),
    ),
    "cosine_similarity": Op(
        "a, b = (np.sqrt((v * v).sum(axis=-1) + 1e-8) for v in (x, w))\n(x * w).sum(axis=-1) / (a * b)",
        "a, b = (np.sqrt((v * v).sum(axis=-1, keepdims=True) + 1e-8) for v in (x, w))\n"
        "g, y = dy[..., None], y[..., None]\ng * (w / (a * b) - y * x / a**2), g * (x / (a * b) - y * w / b**2)",
        "x, w",
        shape="assert len(x) > 0\nreturn [x, x], [x[:-1]], []",
    ),
    "glu": Op(
        "a, b = np.split(x, 2, axis=-1)\na / (1 + np.exp(-b))",
        "a, b = np.split(x, 2, axis=-1)\ns = 1 / (1 + np.exp(-b))\n"
        "np.concatenate((dy * s, dy * a * s * (1 - s)), axis=-1)",
        shape="assert len(x) > 0 and x[-1] > 0 and x[-1] % 2 == 0\nreturn in_shape, [[*x[:-1], x[-1] // 2]], []",
    ),
    # losses and indices
    "cross_entropy": Op(
        "z = x - x.max(axis=-1, keepdims=True)\n"
        "np.log(np.exp(z).sum(axis=-1)) - np.take_along_axis(z, label[:, None], axis=-1)[:, 0]",
        "e = np.exp(x - x.max(axis=-1, keepdims=True))\np = e / e.sum(axis=-1, keepdims=True)\n"
        "dy[:, None] * (p - (np.arange(x.shape[1]) == label[:, None])).astype(x.dtype)",
        "x, label:i",
        shape="assert len(x) == 2 and x[1] > 0 and label == x[:1]\nreturn in_shape, [x[:1]], []",
        sample="{'x': np.linspace(-1, 2, 12).astype(dtype).reshape(4, 3), 'label': np.array([0, 2, 1, 1])}",
    ),
    "embedding": Op(
        "w[index]",
        "g = np.zeros_like(w)\nnp.add.at(g, index, dy)\ng",
        "w, index:i",
        shape="assert len(w) == 2 and w[0] > 0\nreturn in_shape, [[*index, w[1]]], []",
        sample="{'w': np.linspace(-1, 2, 12).astype(dtype).reshape(4, 3), 'index': np.array([3, 0, 3])}",
    ),
    "segment_sum": Op(
        "y = np.zeros((n, *x.shape[1:]), x.dtype)\nnp.add.at(y, segment, x)\ny",
        "dy[segment]",
        "x, segment:i",
        attributes="n: int = 3",
        shape="assert len(x) > 0 and segment == x[:1] and self.n > 2\nreturn in_shape, [[self.n, *x[1:]]], []",
        sample="{'x': np.linspace(-1, 2, 8).astype(dtype).reshape(4, 2), 'segment': np.array([2, 0, 2, 1])}",
    ),
    "argmax": Op("x.argmax(axis=-1).astype(np.int64)", outputs="y:int64", shape=_rows()),
    "floor": Op("np.floor(x).astype(np.int64)", outputs="y:int64", sample="{'x': np.linspace(-3, 3, 8).astype(dtype)}"),
    "count_positive": Op("(x > 0).sum(axis=-1).astype(np.int64)", outputs="y:int64", shape=_rows()),
    "one_hot": Op(
        "(index[..., None] == np.arange(n)).astype(np.float32)",
        inputs="index:i",
        outputs="y:float32",
        attributes="n: int = 3",
        shape="assert self.n > 0\nreturn in_shape, [[*index, self.n]], []",
    ),
    "where": Op(
        "np.where(on, x, w)",
        "np.where(on, dy, 0 * dy), np.where(on, 0 * dy, dy)",
        "x, w, on:b",
        shape=_SAME,
        sample="{'x': np.ones(3, dtype), 'w': np.full(3, 2, dtype), 'on': np.array([True, False, True])}",
    ),
    # matrices, images
    "linear": Op(
        "x @ w.T + b",
        "dy @ w, dy.T @ x, dy.sum(axis=0)",
        "x, w, b",
        shape="assert len(x) == len(w) == 2 and x[1] == w[1] and b == w[:1]\nreturn in_shape, [[x[0], w[0]]], []",
        sample=_drawn(x=(4, 3), w=(2, 3), b=(2,)),
    ),
    "outer": Op(
        "x[:, None] * w",
        "dy @ w, dy.T @ x",
        "x, w",
        shape="assert len(x) == len(w) == 1\nreturn in_shape, [x + w], []",
        sample=_drawn(x=(3,), w=(4,)),
    ),
    "max_pool": Op(
        "np.maximum(x[..., :-1], x[..., 1:])",
        "g = np.zeros_like(x)\nfirst = x[..., :-1] >= x[..., 1:]\n"
        "g[..., :-1] += dy * first\ng[..., 1:] += dy * ~first\ng",
        shape="assert len(x) > 0 and x[-1] > 1\nreturn in_shape, [[*x[:-1], x[-1] - 1]], []",
    ),
    "conv": Op(
        "np.stack([(x[:, i : i + w.size] * w).sum(axis=-1) for i in range(x.shape[1] - w.size + 1)], axis=1)",
        "dx, dw = np.zeros_like(x), np.zeros_like(w)\n"
        "for i in range(dy.shape[1]):\n"
        "    dx[:, i : i + w.size] += dy[:, i : i + 1] * w\n"
        "    dw += (dy[:, i : i + 1] * x[:, i : i + w.size]).sum(axis=0)\n"
        "dx, dw",
        "x, w",
        shape="assert len(x) == 2 and len(w) == 1 and 0 < w[0] <= x[1]\nreturn in_shape, [[x[0], x[1] - w[0] + 1]], []",
        sample=_drawn(x=(3, 6), w=(3,)),
    ),
    "pad": Op(
        "np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)])",
        "dy[..., n : dy.shape[-1] - n]",
        attributes="n: int = 1",
        shape="assert len(x) > 0 and self.n >= 0\nreturn in_shape, [[*x[:-1], x[-1] + 2 * self.n]], []",
    ),
    "rotary": Op(
        "a, b = np.split(x, 2, axis=-1)\n"
        "np.concatenate((a * np.cos(t) - b * np.sin(t), b * np.cos(t) + a * np.sin(t)), axis=-1)",
        "c, s = np.cos(t), np.sin(t)\na, b = np.split(x, 2, axis=-1)\nu, v = np.split(dy, 2, axis=-1)\n"
        "np.concatenate((u * c + v * s, v * c - u * s), axis=-1), v * (a * c - b * s) - u * (a * s + b * c)",
        "x, t",
        shape="assert len(x) == len(t) > 0 and x[-1] % 2 == 0 < x[-1] and t == [*x[:-1], x[-1] // 2]\n"
        "return in_shape, [x], []",
        sample=_drawn(x=(3, 4), t=(3, 2)),
    ),
    "attention": Op(
        "s = q @ k.T / q.shape[1] ** 0.5\np = np.exp(s - s.max(axis=1, keepdims=True))\n"
        "p / p.sum(axis=1, keepdims=True) @ v",
        "r = 1 / q.shape[1] ** 0.5\ns = q @ k.T * r\np = np.exp(s - s.max(axis=1, keepdims=True))\n"
        "p /= p.sum(axis=1, keepdims=True)\ndp = dy @ v.T\nds = p * (dp - (dp * p).sum(axis=1, keepdims=True)) * r\n"
        "ds @ k, ds.T @ q, p.T @ dy",
        "q, k, v",
        shape="assert len(q) == len(k) == len(v) == 2 and q[1] == k[1] > 0 and k[0] == v[0] > 0\n"
        "return in_shape, [[q[0], v[1]]], []",
        sample=_drawn(q=(3, 4), k=(5, 4), v=(5, 2)),
    ),
    "transpose": Op("x.T.copy()", "dy.T.copy()", shape="return in_shape, [x[::-1]], []"),
}

#: Mistakes: the op, a part of its text, and what stands there instead.
WRONG = [
    # a wrong derivative
    ("mish", "x * (1 - t * t)", "x * (1 - t)"),
    ("gelu", "0.134145", "0.044715"),
    ("silu", "dy * s * (1 + x * (1 - s))", "dy * s * (1 + x)"),
    ("softplus", "dy / (1 + np.exp(-x))", "dy / (1 + np.exp(x))"),
    ("elu", "dy * alpha * np.exp", "dy * np.exp"),
    ("softsign", "dy / (1 + np.abs(x)) ** 2", "dy / (1 + np.abs(x))"),
    ("hardswish", "(2 * x + 3) / 6", "(x + 3) / 6"),
    ("relu6", "(x > 0) & (x < 6)", "x > 0"),
    ("hardtanh", "(x > low) & (x < high)", "np.abs(x) < 1"),
    ("softshrink", "np.abs(x) > size", "x > size"),
    ("snake", "np.sin(2 * a * x)", "np.sin(a * x)"),
    ("logit", "x * (1 - x)", "1 - x"),
    ("entropy", "(np.log(x) + 1)", "np.log(x)"),
    ("square_root", "2 * y", "2 * x"),
    ("sinc", "- np.sin(t) / t**2", "+ np.sin(t) / t**2"),
    ("maximum", "dy * (x < w)", "dy * (x >= w)"),
    ("swiglu", "dy * x * s", "dy * x"),
    ("prelu", "np.minimum(x, 0)", "np.maximum(x, 0)"),
    ("huber", "g, -g", "g, g"),
    ("bce_with_logits", "-dy * x", "0 * dy"),
    ("softmax", "(dy * y).sum(axis=-1, keepdims=True)", "(dy * y).mean(axis=-1, keepdims=True)"),
    ("log_softmax", "np.exp(y) * dy.sum", "np.exp(x) * dy.sum"),
    ("row_max", "x.argmax(axis=-1)", "x.argmin(axis=-1)"),
    ("variance", "/ x.shape[-1]", "/ (x.shape[-1] - 1)"),
    ("layer_norm", "- n * (g * n).mean(axis=-1, keepdims=True)", ""),
    ("rms_norm", "r**3", "r**2"),
    ("cosine_similarity", "y * w / b**2", "y * w / a**2"),
    ("cumsum", "[..., ::-1], axis=-1)[..., ::-1]", ", axis=-1)"),
    ("attention", "ds @ k", "dp @ k"),
    ("rotary", "v * c - u * s", "v * c + u * s"),
    ("conv", "dw +=", "dw ="),
    # indices and ties
    ("top_k", "dy, axis", "dy[..., ::-1], axis"),
    ("sort", "np.argsort(x, axis=-1, kind='stable'), dy", "np.argsort(-x, axis=-1, kind='stable'), dy"),
    ("max_pool", "dy * ~first", "dy * first"),
    ("embedding", "np.add.at(g, index, dy)", "g[index] = dy"),
    ("segment_sum", "dy[segment]", "dy[segment][::-1]"),
    ("cross_entropy", "== label", "!= label"),
    # numbers too large for the way that they are computed
    ("silu", "x / (1 + np.exp(-x))", "x * np.exp(x) / (1 + np.exp(x))"),
    ("softplus", "np.logaddexp(0, x)", "np.log(1 + np.exp(x))"),
    ("logsumexp", "m + np.log(np.exp(x - m[..., None]).sum(axis=-1))", "np.log(np.exp(x).sum(axis=-1))"),
    ("softmax", "x - x.max(axis=-1, keepdims=True)", "x"),
    ("hypot", "dy * x / r", "dy * x * r / (x * x + w * w)"),
    # shapes and dtypes
    ("linear", " and b == w[:1]", ""),
    ("conv", " <= x[1]", ""),
    ("glu", " and x[-1] % 2 == 0", ""),
    ("row_max", "len(x) > 0 and x[-1] > 0", "len(x) > 0"),
    ("transpose", "dy.T.copy()", "dy"),
    ("transpose", "x.T.copy()", "np.ascontiguousarray(x.T)"),
    ("pad", "and self.n >= 0", ""),
    ("argmax", ".astype(np.int64)", ".astype(np.int32)"),
    ("relu6", "np.minimum(np.maximum(x, 0), 6)", "np.minimum(np.maximum(x, 0), np.full(x.shape, 6.0))"),
]
