"""Bodies of kernels that people write every day, for ``benchmarks/everyday.py`` and the tests.

A body is an expression of its inputs, or statements that end with one. Each input has a dtype (float32 if none is
given) and a shape, in which ``n`` is a length that grows with the number of elements. ``int<k`` draws whole numbers
below k, and ``=`` gives the value of an attribute of the op.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.call.arrays import ArrayCall
from pykernels.kernel.build import build_kernel
from pykernels.kernel.read.signature import Signature, TensorType
from pykernels.kernel.read.source import KernelSource

#: What every kernel file begins with.
PRELUDE = """
import dataclasses
import math

import numpy as np
from scipy import special


@dataclasses.dataclass(frozen=True)
class Settings:
    eps: float = 1e-5
    heads: int = 4


SETTINGS = Settings()
SIZES = {"window": 3, "scale": 0.5}


def gelu(x):
    return 0.5 * x * (1 + special.erf(x / math.sqrt(2)))


"""
_ROWS, _MATRIX, _CUBE, _IMAGES, _VECTOR = "x: n 64", "x: n n", "x: n 8 16", "x: n 3 16 16", "x: n"
_PAIR, _VECTORS = "x: n 64; y: n 64", "x: n; y: n"
#: By group: the name of a body, its code and its inputs.
BODIES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "products": (
        ("matmul", "x @ y", "x: n 64; y: 64 64"),
        ("matmul, batched", "x @ y", "x: n 8 16; y: n 16 8"),
        ("matmul, broadcast", "np.matmul(x, y)", "x: n 1 8 16; y: 4 16 8"),
        ("matmul by vector", "x @ y", "x: n 8 16; y: 16"),
        ("dot", "np.dot(x, y)", "x: n 64; y: 64 32"),
        ("dot of rank 3", "x.dot(y)", "x: n 8 16; y: 16 8"),
        ("tensordot", "np.tensordot(x, y, axes=([1, 2], [0, 1]))", "x: n 8 16; y: 8 16 4"),
        ("inner", "np.inner(x, y)", "x: n 64; y: 8 64"),
        ("outer", "np.outer(x, y)", "x: n; y: 64"),
        ("linear layer", "np.maximum(x @ w.T + b, 0)", "x: n 64; w: 32 64; b: 32"),
        ("differences of all", "np.subtract.outer(x, y)", "x: n; y: 64"),
        ("cross", "np.cross(x, y)", "x: n 3; y: n 3"),
        ("gram matrix", "x.T @ x", _ROWS),
        ("squared distances", "(x * x).sum(1)[:, None] - 2 * x @ y.T + (y * y).sum(1)", "x: n 64; y: 16 64"),
        ("einsum matmul", "np.einsum('ij,jk->ik', x, y)", "x: n 64; y: 64 64"),
        ("einsum heads", "np.einsum('bqhd,bkhd->bhqk', x, y)", "x: n 16 2 8; y: n 16 2 8"),
        ("einsum ellipsis", "np.einsum('...ij,...jk->...ik', x, y)", "x: n 8 16; y: n 16 8"),
        ("einsum of three", "np.einsum('bi,ij,bj->b', x, w, y)", "x: n 16; w: 16 16; y: n 16"),
        ("einsum row sums", "np.einsum('ij->i', x)", _ROWS),
        ("einsum transpose", "np.einsum('ij->ji', x)", _ROWS),
        ("einsum diagonal", "np.einsum('bii->bi', x)", "x: n 8 8"),
        ("einsum row products", "np.einsum('bi,bi->b', x, y)", _PAIR),
        ("solve", "np.linalg.solve(x @ x.T + 9 * np.eye(16, dtype=x.dtype), y) * 2", "x: 16 16; y: 16 n"),
        ("inverse", "np.linalg.inv(x)", "x: n 8 8"),
        ("inverse of one", "np.linalg.inv(x)", _MATRIX),
        ("determinant", "np.linalg.det(x)", "x: n 4 4"),
        ("log determinant", "np.linalg.slogdet(x)[1]", "x: n 8 8"),
        ("cholesky", "np.linalg.cholesky(x @ x.swapaxes(-1, -2) + np.eye(8, dtype=x.dtype))", _CUBE),
    ),
    "joining": (
        ("stack", "np.stack((x, y))", _PAIR),
        ("stack last", "np.stack([x, y], axis=-1)", _PAIR),
        ("stack comprehension", "np.stack([x[:, i] * i for i in range(3)])", _ROWS),
        ("concatenate", "np.concatenate((x, y))", _PAIR),
        ("concatenate last", "np.concatenate([x, y, x], axis=-1)", _PAIR),
        ("concatenate mixed", "np.concatenate((x, m), axis=1)", "x: n 64; m: float64 n 32"),
        ("vstack", "np.vstack((x, y))", _PAIR),
        ("hstack", "np.hstack((x, y))", _PAIR),
        ("split", "a, b = np.split(x, 2, axis=1); a * b", _ROWS),
        ("split at", "a, b, c = np.split(x, [16, 40], axis=-1); np.hstack((c, a, b))", _ROWS),
        ("split and join", "np.concatenate([h * 2 for h in np.split(x, 4, axis=1)], axis=1)", _ROWS),
        ("tile", "np.tile(x, (2, 3))", _ROWS),
        ("repeat", "np.repeat(x, 2, axis=1)", _ROWS),
        ("roll", "np.roll(x, 3)", _VECTOR),
        ("roll axis", "np.roll(x, -2, axis=1)", _ROWS),
        ("roll axes", "np.roll(x, (1, -1), axis=(1, 2))", _CUBE),
        ("flip", "np.flip(x, axis=-1)", _ROWS),
        ("flip all", "np.flip(x)", _ROWS),
        ("pad", "np.pad(x, 1)", _ROWS),
        ("pad images", "np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))", _IMAGES),
        ("pad edge", "np.pad(x, ((0, 0), (2, 2)), mode='edge')", _ROWS),
        ("pad reflect", "np.pad(x, ((0, 0), (2, 2)), mode='reflect')", _ROWS),
        ("pad wrap", "np.pad(x, ((0, 0), (2, 2)), mode='wrap')", _ROWS),
        ("broadcast_to", "np.broadcast_to(b, x.shape)", "x: n 64; b: 64"),
        ("block", "np.block([[x, y], [y, x]])", _PAIR),
        ("join of one element", "np.concatenate((x[:, :1], y[:, :0]), 1) + y", _PAIR),
        ("meshgrid", "a, b = np.meshgrid(np.arange(x.shape[1]), np.arange(x.shape[0])); x * a + b", _ROWS),
        ("interleave", "z = np.empty((x.shape[0], 128), x.dtype); z[:, ::2] = x; z[:, 1::2] = -x; z", _ROWS),
    ),
    "axes": (
        ("transpose", "x.T", _ROWS),
        ("transpose of rank 4", "x.transpose(0, 2, 3, 1)", _IMAGES),
        ("transpose and scale", "np.transpose(x, (0, 2, 1)) * 2", _CUBE),
        ("moveaxis", "np.moveaxis(x, 1, -1)", _IMAGES),
        ("swapaxes", "np.swapaxes(x, 1, 2) + 1", _CUBE),
        ("split heads", "x.reshape(x.shape[0], 4, 16).transpose(1, 0, 2)", _ROWS),
        ("merge heads", "x.transpose(1, 0, 2).reshape(x.shape[1], -1)", _CUBE),
        ("diagonal", "np.diagonal(x, axis1=1, axis2=2) * 2", "x: n 8 8"),
        ("reshape", "x.reshape(-1, 8)", _ROWS),
        ("flatten", "x.reshape(x.shape[0], int(np.prod(x.shape[1:])))", _CUBE),
        ("expand_dims", "np.expand_dims(x, 1) * y[None]", "x: n 8; y: 4 8"),
        ("pixel shuffle", "n, c, h, w = x.shape; "
         "x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)", "x: n 8 4 4"),
        ("patches", "n, c, h, w = x.shape; x.reshape(n, c, h // 4, 4, w // 4, 4).transpose(0, 2, 4, 1, 3, 5)"
         ".reshape(n, -1, c * 16)", _IMAGES),
        ("space of axis", "x.sum(axis=axis, keepdims=True)", "x: n 8 16; axis: = -1"),
    ),
    "ordering": (
        ("sort", "np.sort(x)", _VECTOR),
        ("sort rows", "np.sort(x, axis=-1)", _ROWS),
        ("sort columns", "np.sort(x, axis=0)", _ROWS),
        ("argsort", "np.argsort(x)", _VECTOR),
        ("argsort rows", "np.argsort(x, axis=1)", _ROWS),
        ("argsort stable", "np.argsort(i, kind='stable')", "i: int<50 n"),
        ("partition", "np.partition(x, 5, axis=-1)[:, :5].max(axis=1)", _ROWS),
        ("top-k", "np.argsort(-x, axis=-1)[:, :5]", _ROWS),
        ("top-k values", "np.take_along_axis(x, np.argsort(-x, axis=-1)[:, :5], axis=-1)", _ROWS),
        ("searchsorted", "np.searchsorted(np.sort(y), x)", "x: n; y: 256"),
        ("digitize", "np.digitize(x, np.linspace(-2, 2, 9))", _VECTOR),
        ("median", "np.median(x, axis=1)", _ROWS),
        ("quantile", "np.quantile(x, 0.9, axis=-1)", _ROWS),
        ("percentiles", "np.percentile(x, (10, 50, 90), axis=1)", _ROWS),
        ("argmax", "np.argmax(x, axis=-1)", _ROWS),
        ("one hot of argmax", "np.eye(64, dtype=x.dtype)[np.argmax(x, axis=1)]", _ROWS),
        ("bincount", "np.bincount(i, minlength=50)[:50]", "i: int<50 n"),
    ),
    "accumulating": (
        ("cumsum", "np.cumsum(x)", _VECTOR),
        ("cumsum rows", "np.cumsum(x, axis=1)", _ROWS),
        ("cumsum columns", "x.cumsum(axis=0)", _ROWS),
        ("cumprod", "np.cumprod(x, axis=-1)", _ROWS),
        ("diff", "np.diff(x, axis=1)", _ROWS),
        ("diff twice", "np.diff(x, n=2)", _VECTOR),
        ("diff from zero", "np.diff(x, axis=1, prepend=x[:, :1])", _ROWS),
        ("running maximum", "np.maximum.accumulate(x, axis=1)", _ROWS),
        ("moving average", "c = np.cumsum(x); (c[8:] - c[:-8]) / 8", _VECTOR),
        ("add.reduce", "np.add.reduce(x, axis=1)", _ROWS),
        ("maximum.reduce", "np.maximum.reduce(x, axis=(1, 2))", _CUBE),
        ("logical_or.reduce", "np.logical_or.reduce(m, axis=0)", "m: bool n 64"),
        ("add.reduceat", "np.add.reduceat(x, [0, 16, 40], axis=1)", _ROWS),
        ("logaddexp.reduce", "np.logaddexp.reduce(x, axis=1)", _ROWS),
        ("segment sum", "z = np.zeros((50, 8), x.dtype); np.add.at(z, i, x); z", "x: n 8; i: int<50 n"),
        ("segment maximum", "z = np.full(50, -np.inf, x.dtype); np.maximum.at(z, i, x); z", "x: n; i: int<50 n"),
    ),
    "reductions": (
        ("sum", "x.sum()", _VECTOR),
        ("sum of uint8", "u.sum(axis=-1)", "u: uint8 n 64"),
        ("sum of bool", "m.sum(axis=0)", "m: bool n 64"),
        ("sum of axes", "np.sum(x, axis=(0, 2))", _CUBE),
        ("sum in float64", "np.sum(x, axis=1, dtype=np.float64)", _ROWS),
        ("sum where", "np.sum(x, axis=1, where=x > 0)", _ROWS),
        ("max initial", "np.max(x, axis=1, initial=0)", _ROWS),
        ("mean of batch", "x.mean(axis=(0, 2, 3))", _IMAGES),
        ("standard deviation", "np.std(x, axis=0, ddof=1)", _ROWS),
        ("any", "np.any(x > 3, axis=1)", _ROWS),
        ("all", "(x < 9).all(axis=-1, keepdims=True)", _ROWS),
        ("count_nonzero", "np.count_nonzero(x > 0, axis=1)", _ROWS),
        ("nanmean", "np.nanmean(np.where(x > 1, np.nan, x), axis=1)", _ROWS),
        ("nansum", "np.nansum(x, axis=0)", _ROWS),
        ("nanmax", "np.nanmax(x, axis=-1)", _ROWS),
        ("norm", "np.linalg.norm(x)", _VECTOR),
        ("norm of rows", "x / np.linalg.norm(x, axis=1, keepdims=True)", _ROWS),
        ("1-norm", "np.linalg.norm(x, ord=1, axis=-1)", _ROWS),
        ("infinity norm", "np.linalg.norm(x, np.inf, axis=1)", _ROWS),
        ("weighted average", "np.average(x, axis=1, weights=w)", "x: n 64; w: 64"),
        ("covariance", "np.cov(x, rowvar=False)", "x: n 16"),
        ("out=", "z = np.empty(x.shape, x.dtype); np.add(x, y, out=z); z", _PAIR),
    ),
    "indexing": (
        ("mask read", "x[x > 0].sum()", _ROWS),
        ("mask by infinity", "m = x > 0; m[:, 0] = True; np.where(m, -np.inf, x)", _ROWS),
        ("mask assigned", "z = x.copy(); z[z < 0] = 0; z", _ROWS),
        ("mask augmented", "z = x.copy(); z[x > 0] *= 2; z", _ROWS),
        ("mask from array", "z = x.copy(); z[m] = y[m]; z", "x: n 64; y: n 64; m: bool n 64"),
        ("mask of rows", "z = x.copy(); z[m] = 1; z", "x: n 64; m: bool n"),
        ("where places", "np.argwhere(x > 1).sum()", _ROWS),
        ("take rows", "x[i]", "x: n 64; i: int<n n"),
        ("take columns", "x[:, [2, 0, 1]]", _ROWS),
        ("take", "np.take(x, i, axis=1)", "x: n 64; i: int<64 32"),
        ("embedding", "w[i]", "w: 100 64; i: int<100 n 8"),
        ("pairs of indices", "x[np.arange(x.shape[0]), i]", "x: n 64; i: int<64 n"),
        ("open mesh", "x[i[:, None], j]", "x: n 64; i: int<n n; j: int<64 16"),
        ("take_along_axis", "np.take_along_axis(x, i, axis=1)", "x: n 64; i: int<64 n 8"),
        ("put_along_axis", "z = np.zeros(x.shape, x.dtype); np.put_along_axis(z, i, 1, axis=1); z",
         "x: n 64; i: int<64 n 1"),
        ("scatter rows", "z = np.zeros((100, 64), x.dtype); z[i] = x; z", "x: n 64; i: int<100 n"),
        ("scatter add", "z = x.copy(); z[np.arange(z.shape[0]), i] -= 1; z", "x: n 64; i: int<64 n"),
        ("every second", "x[:, ::2] * x[:, 1::2]", _ROWS),
        ("reversed", "x[::-1, ::-1] + x", _ROWS),
        ("select", "np.select([x < -1, x > 1], [-x, x * x], 0.5)", _ROWS),
        ("compress", "x.compress(x.sum(1) > 0, axis=0).sum(0)", _ROWS),
        ("choose by where", "np.where(x > 0, x, 0.1 * y)", _PAIR),
        ("clip from below", "x.clip(min=0)", _ROWS),
        ("neighbours", "i = np.arange(x.shape[1]); x[:, np.clip(i - 1, 0, x.shape[1] - 1)]", _ROWS),
        ("clip by arrays", "np.clip(x, -np.abs(y), np.abs(y))", _PAIR),
    ),
    "special functions": (
        ("gelu", "gelu(x)", _ROWS),
        ("sigmoid", "special.expit(x)", _ROWS),
        ("logit", "special.logit(special.expit(x))", _VECTOR),
        ("xlogy", "special.xlogy(np.abs(x), np.abs(y))", _VECTORS),
        ("logsumexp", "special.logsumexp(x, axis=-1)", _ROWS),
        ("logsumexp of multiples", "special.logsumexp(x, axis=-1, b=y)", _PAIR),
        ("softmax", "special.softmax(x, axis=-1)", _ROWS),
        ("log_softmax", "special.log_softmax(x, axis=1)", _ROWS),
        ("gammaln", "special.gammaln(np.abs(x) + 1)", _VECTOR),
        ("digamma", "special.digamma(np.abs(x) + 1)", _VECTOR),
    ),
    "models": (
        ("softmax by hand", "e = np.exp(x - x.max(axis=-1, keepdims=True)); e / e.sum(axis=-1, keepdims=True)",
         "x: n 61"),
        ("layer norm", "m = x.mean(-1, keepdims=True); v = x.var(-1, keepdims=True); "
         "(x - m) / np.sqrt(v + SETTINGS.eps) * g + b", "x: n 64; g: 64; b: 64"),
        ("rms norm", "x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g", "x: n 64; g: 64"),
        ("group norm", "g = x.reshape(x.shape[0], 2, -1); m = g.mean(-1, keepdims=True); "
         "((g - m) / np.sqrt(g.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)", "x: n 4 8 8"),
        ("rotary embedding", "a, b = x[..., :32], x[..., 32:]; np.concatenate((a * c - b * s, b * c + a * s), axis=-1)",
         "x: n 64; c: n 32; s: n 32"),
        ("interleaved rotary", "a, b = x[..., ::2], x[..., 1::2]; np.stack((a * c - b * s, b * c + a * s), -1)"
         ".reshape(x.shape)", "x: n 64; c: n 32; s: n 32"),
        ("masked attention", "a = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]); a = np.where(m, a, -1e9); "
         "e = np.exp(a - a.max(-1, keepdims=True)); (e / e.sum(-1, keepdims=True)) @ v",
         "q: n 16 16; k: n 16 16; v: n 16 16; m: bool 16 16"),
        ("cross entropy", "s = x - x.max(1, keepdims=True); l = s - np.log(np.exp(s).sum(1, keepdims=True)); "
         "-l[np.arange(x.shape[0]), i].mean()", "x: n 64; i: int<64 n"),
        ("swiglu", "a, b = np.split(x, 2, axis=-1); a / (1 + np.exp(-a)) * b", _ROWS),
        ("causal mask", "np.where(np.tril(np.ones(x.shape, dtype=bool)), x, -np.inf)", _MATRIX),
        ("depthwise convolution", "p = np.pad(x, ((0, 0), (0, 0), (1, 1))); "
         "sum(p[:, :, k:k + x.shape[2]] * w[:, k:k + 1] for k in range(3))", "x: n 4 32; w: 4 3"),
        ("convolution by loop",
         "z = np.zeros(x.shape, x.dtype)\nfor k in (0, 1, 2):\n    z[:, 2:] += x[:, k:k + 62] * w[k]\nz",
         "x: n 64; w: 3"),
        ("average pooling", "n, c, h, w = x.shape; x.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))", _IMAGES),
        ("nearest upsampling", "x.repeat(2, axis=2).repeat(2, axis=3)", "x: n 3 8 8"),
        ("bilinear rows", "p = np.linspace(0, 63, 100); i = np.minimum(p.astype(np.int64), 62); "
         "f = (p - i).astype(x.dtype); x[:, i] * (1 - f) + x[:, i + 1] * f", _ROWS),
        ("boxes' overlaps", "l = np.maximum(x[:, None, :2], y[:, :2]); r = np.minimum(x[:, None, 2:], y[:, 2:]); "
         "np.prod(np.maximum(r - l, 0), axis=-1)", "x: n 4; y: 16 4"),
        ("checked rows", "if x.ndim != 2:\n    raise ValueError(f'{x.ndim} axes')\nx * 2 + 1", _ROWS),
        ("constants", "x[:, ::SIZES['window']] * SIZES['scale'] + SETTINGS.eps", _ROWS),
        ("table of constants", "t = {'small': 0.5, 'large': 2.0}; x * t[size] + {1: 0.0, 2: 1.0}[n_layers]",
         "x: n 64; size: = 'small'; n_layers: = 2"),
        ("four axes", "(x - m[None, :, None, None]) * g[:, None, None] + np.tanh(x) * x.sum(axis=1, keepdims=True)",
         "x: n 3 16 16; m: 3; g: 3"),
    ),
    "left to Python": (
        ("fft", "np.fft.rfft(x, axis=-1).real.astype(x.dtype) * 2", _ROWS),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Body:
    """A row of the table."""

    group: str
    name: str
    code: str
    inputs: str

    def text(self, before: str = "") -> str:
        """Return the text of its kernel file, with another statement before those of the body."""
        arrays, attributes = self._declared()
        *statements, result = self.code.replace("; ", "\n").splitlines()
        names, keywords = "".join(f"{name}, " for name in arrays), ", ".join(attributes)
        parameters = f"args, *, {keywords}" if attributes else "args"
        lines = [
            f"def forward({parameters}):",
            *(f"    {line}" for line in (f"{names}= args", *before.splitlines(), *statements)),
        ]
        return "\n".join([PRELUDE.lstrip(), *lines, f"    return {result}\n"])

    def _declared(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """Return the words of each input, and the values of attributes."""
        words = {name.strip(): text.split() for name, text in (each.split(":") for each in self.inputs.split(";"))}
        attributes = {name: ast.literal_eval(" ".join(each[1:])) for name, each in words.items() if each[0] == "="}
        return {name: each for name, each in words.items() if name not in attributes}, attributes

    def arrays(self, elements: int) -> list[np.ndarray]:
        """Return inputs, of which the largest has about so many elements."""
        rng = np.random.default_rng(0)
        declared, _ = self._declared()
        shapes = [[word for word in words if word == "n" or word.isdigit()] for words in declared.values()]
        n = min(_length(shape, elements) for shape in shapes if "n" in shape)
        made = []
        for words, shape in zip(declared.values(), shapes):
            lengths = tuple(n if word == "n" else int(word) for word in shape)
            dtype = words[0] if words[0] not in shape else "float32"
            if dtype.startswith("int<"):
                limit = dtype.removeprefix("int<")
                made.append(rng.integers(0, n if limit == "n" else int(limit), lengths))
            elif dtype in ("bool", "uint8"):
                made.append(rng.integers(0, 2 if dtype == "bool" else 256, lengths).astype(dtype))
            else:
                made.append(rng.standard_normal(lengths).astype(dtype))
        return made

    def call(self, folder: Path, elements: int, before: str = "") -> tuple[ArrayCall, np.ndarray, np.ndarray]:
        """Return a call of the kernel, as `text` has it, the array of its result, and NumPy's result."""
        path = folder / "kernel.py"
        path.write_text(self.text(before))
        inputs, (_, attributes) = self.arrays(elements), self._declared()
        function = KernelSource(path).functions["forward"]
        wanted = np.asarray(function.function(tuple(inputs), **attributes))
        made = np.empty(wanted.shape, wanted.dtype)
        tensors = [TensorType(array.dtype, array.ndim) for array in (*inputs, made)]
        signature = Signature(tuple(tensors[:-1]), tuple(tensors[-1:]), constants=tuple(attributes.items()))
        shapes = [array.shape for array in (*inputs, made)]
        return ArrayCall(build_kernel(function, "body", signature, ["y"], shapes), inputs, [made]), made, wanted


def _length(shape: Sequence[str], elements: int) -> int:
    """Return the length that gives a shape about so many elements."""
    fixed = math.prod(int(word) for word in shape if word != "n")
    return max(2, round((elements / fixed) ** (1 / shape.count("n"))))


#: All bodies.
ALL = [Body(group, *row) for group, rows in BODIES.items() for row in rows]
