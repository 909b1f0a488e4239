"""Functions of textbooks and papers, from each of which ``python -m pykernels new --from`` makes an op.

`SAMPLES` has the inputs that they are tried with: their dtype, if it is not float32, and their lengths.
"""

from __future__ import annotations

import numpy as np
import scipy.special

# ruff: noqa: F821, UP037 -- annotations are the types of tensors

# ---- activations


def gelu(x):
    return 0.5 * x * (1 + scipy.special.erf(x / 1.4142135623730951))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def softplus(x, beta=1.0):
    return np.log1p(np.exp(-np.abs(beta * x))) / beta + np.maximum(x, 0)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def softsign(x):
    return x / (1 + np.abs(x))


def squareplus(x, b=4.0):
    return (x + np.sqrt(x * x + b)) / 2


def snake(x, frequency=1.0):
    return x + np.sin(frequency * x) ** 2 / frequency


def swiglu(x, gate):
    return x * gate / (1 + np.exp(-gate))


def geglu(x):
    a, b = np.split(x, 2, axis=-1)
    return a * 0.5 * b * (1 + np.tanh(0.7978845608 * (b + 0.044715 * b**3)))


# ---- norms


def rms_norm(x, w: "[n]", eps=1e-6):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def affine_norm(x, w: "[n]", b: "[n]", eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * w + b


def l2_normalize(x, eps=1e-12):
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + eps)


def weight_norm(v: "[rows, columns]", g: "[rows]"):
    return v * (g / np.sqrt((v * v).sum(axis=1)))[:, None]


def spectral_norm(w: "[rows, columns]", u: "[rows]"):
    v = u @ w
    v = v / np.sqrt((v * v).sum())
    left = w @ v
    left = left / np.sqrt((left * left).sum())
    return w / (left @ w @ v)


# ---- losses


def huber(x, target, delta=1.0):
    error = np.abs(x - target)
    return np.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta)).mean(axis=-1)


def log_cosh(x, target):
    size = np.abs(x - target)
    return (size + np.log1p(np.exp(-2 * size)) - 0.6931471805599453).mean(axis=-1)


def binary_cross_entropy(logits, target):
    return np.maximum(logits, 0) - logits * target + np.log1p(np.exp(-np.abs(logits)))


def cross_entropy(logits: "[n, classes]", labels: "int64[n]"):
    z = logits - logits.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, labels[:, None], axis=-1)[:, 0]


def kl_divergence(mean, log_variance):
    return 0.5 * (mean * mean + np.exp(log_variance) - log_variance - 1).sum(axis=-1)


def cosine_similarity(x, y, eps=1e-8):
    return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1) + eps)


def dice_loss(p, target, smooth=1.0):
    return 1 - (2 * (p * target).sum(axis=-1) + smooth) / (p.sum(axis=-1) + target.sum(axis=-1) + smooth)


def triplet_loss(anchor, positive, negative, margin=1.0):
    near, far = ((anchor - positive) ** 2).sum(axis=-1), ((anchor - negative) ** 2).sum(axis=-1)
    return np.maximum(near - far + margin, 0)


# ---- attention and structures


def attention(q: "[heads, n, d]", k: "[heads, m, d]", v: "[heads, m, e]"):
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def rotary_embedding(x: "[heads, n, d]", cos: "[n, d]", sin: "[n, d]"):
    first, second = np.split(x, 2, axis=-1)
    return x * cos + np.concatenate((-second, first), axis=-1) * sin


def sinkhorn(scores: "[n, m]"):
    rows = scores - scipy.special.logsumexp(scores, axis=1, keepdims=True)
    columns = rows - scipy.special.logsumexp(rows, axis=0, keepdims=True)
    rows = columns - scipy.special.logsumexp(columns, axis=1, keepdims=True)
    return np.exp(rows - scipy.special.logsumexp(rows, axis=0, keepdims=True))


def crf_step(alpha: "[batch, tags]", transitions: "[tags, tags]", emissions: "[batch, tags]"):
    scores = alpha[:, :, None] + transitions
    top = scores.max(axis=1)
    return top + np.log(np.exp(scores - top[:, None, :]).sum(axis=1)) + emissions


def crf(emissions: "[steps, tags]", transitions: "[tags, tags]"):
    alpha = emissions[0]
    for t in range(1, len(emissions)):
        alpha = scipy.special.logsumexp(alpha[:, None] + transitions, axis=0) + emissions[t]
    return scipy.special.logsumexp(alpha)


def hidden_state(x: "[steps, n]", w: "[n, n]"):
    h = np.zeros_like(x[0])
    for t in range(len(x)):
        h = np.tanh(x[t] + w @ h)
    return h


def bilinear_sampling(image: "[channels, height, width]", y: "[n]", x: "[n]"):
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    down, right = y - top.astype(y.dtype), x - left.astype(x.dtype)
    upper = image[:, top, left] * (1 - right) + image[:, top, left + 1] * right
    lower = image[:, top + 1, left] * (1 - right) + image[:, top + 1, left + 1] * right
    return upper * (1 - down) + lower * down


_MANY = "512 1024"
#: The inputs of each function: names of ranges, and lengths.
SAMPLES: dict[str, tuple[str, ...]] = {
    "gelu": (_MANY,),
    "gelu_tanh": (_MANY,),
    "silu": (_MANY,),
    "mish": (_MANY,),
    "softplus": (_MANY,),
    "elu": (_MANY,),
    "hardswish": (_MANY,),
    "softsign": (_MANY,),
    "squareplus": (_MANY,),
    "snake": (_MANY,),
    "geglu": (_MANY,),
    "l2_normalize": (_MANY,),
    "swiglu": (_MANY, _MANY),
    "huber": (_MANY, _MANY),
    "log_cosh": (_MANY, _MANY),
    "kl_divergence": (_MANY, _MANY),
    "cosine_similarity": (_MANY, _MANY),
    "rms_norm": (_MANY, "1024"),
    "affine_norm": (_MANY, "1024", "1024"),
    "weight_norm": (_MANY, "512"),
    "spectral_norm": ("256 512", "256"),
    "binary_cross_entropy": (_MANY, f"unit {_MANY}"),
    "dice_loss": (f"unit {_MANY}", f"unit {_MANY}"),
    "cross_entropy": ("2048 100", "index 2048"),
    "triplet_loss": (_MANY, _MANY, _MANY),
    "attention": ("8 128 64", "8 128 64", "8 128 64"),
    "rotary_embedding": ("8 256 64", "256 64", "256 64"),
    "sinkhorn": ("512 512",),
    "crf_step": ("256 32", "32 32", "256 32"),
    "crf": ("16 64", "64 64"),
    "hidden_state": ("64 256", "small 256 256"),
    "bilinear_sampling": ("16 64 64", "place 4096", "place 4096"),
}


def draw(text: str, rng: np.random.Generator) -> np.ndarray:
    """Return an array of normal numbers, or "unit", from 0 to 1, "small", "index", whole, or "place", in an image."""
    (*kind,) = (word for word in text.split() if not word.isdigit())
    shape = tuple(int(word) for word in text.split() if word.isdigit())
    if kind == ["index"]:
        return rng.integers(0, 100, shape)
    low, high = {"unit": (0, 1), "small": (-0.1, 0.1), "place": (0, 63)}.get("".join(kind), (0, 0))
    found = rng.uniform(low, high, shape) if high else rng.standard_normal(shape)
    return found.astype(np.float32)
