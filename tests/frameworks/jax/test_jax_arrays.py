"""Arrays of kernels that JAX traces: they change as NumPy's do, or the kernel is refused."""

from __future__ import annotations

import textwrap
from typing import Any

import jax
import numpy as np
import pytest

from pykernels.frameworks.jax.arrays import Array, Functions

BODIES = [
    "b = x; b += 1; return x + b",
    "b = x.T; c = np.exp(b).T; c /= c.sum(); return c",
    "b = x[1]; b *= 2; x[0] += b; return x",
    "b = x[1:]; c = b[..., ::2]; c -= 5; x[2, 0] = 7; return np.concatenate([x, b, b[None, 0]])",
    "b = x[0, 0]; x[0, 0] = 9; c = b; c += 1; return x * b + c",
    "b = x[np.asarray([1, 0])]; b += 1; return x, b, x[x.argmax(-1)[:2] % 3]",
    "s = x.sum(); t = s; t += 1; return s, t, 2 ** np.abs(s), -s @ np.ones(()) if s.ndim else s",
    "np.multiply(x, x, out=x); np.add(x, 1, out=(x,)); return np.linalg.norm(x) + np.ones(3) * x[:, :3]",
    "y = x.copy(); y.sort(axis=0); y[y > 1] = 0; y[x[:, 0] > 0] = 8; return y, np.float32(3) * x.astype(np.float32)",
    "return [row * 2 for row in x], len(x), x.shape, np.split(x, 3), 1 - x, x / 2 >= x, divmod(7, 2)",
    "y = np.zeros(()); np.sum(x, out=y); return y",
    "y = np.exp(x).reshape(-1); y[0] = 1; y[1:] /= 2; return y",
]
REFUSED = {
    "a view that is written": ("b = x.reshape(-1); b += 1; return x", "it writes into a view of an array"),
    "a view of an array that has changed": ("b = x.T; x += 1; return b", "it reads a view of an array that has"),
    "a view of a part": ("b = x[1].reshape(2, 2); b += 1; return x", "it writes into a view"),
    "two views of one array": ("b = (x * 1).T; c = b.T; b += 1; return c", "it writes into a view"),
    "a choice": ("return x if x[0, 0] > 0 else -x", "boolean"),
}


def run(body: str, np: Any, x: Any) -> Any:
    namespace: dict[str, Any] = {"np": np}
    exec(f"def kernel(x):\n{textwrap.indent(body.replace('; ', chr(10)), '    ')}", namespace)
    return namespace["kernel"](x)


def traced(body: str, x: Any) -> Any:
    def program(x: Any) -> Any:
        found = run(body, Functions(), Array(x))
        return jax.tree.map(lambda each: each.value if isinstance(each, Array) else each, found)

    return jax.jit(program)(x)


@pytest.mark.parametrize("body", BODIES)
def test_arrays_change_as_numpys_do(body: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    found, expected = traced(body, x), run(body, np, x.copy())
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-5, 1e-5), found, expected)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_followed_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        traced(body, np.ones((3, 4), np.float32))


def test_an_index_out_of_bounds_shows() -> None:
    found = traced("return x[np.asarray([0, 7])]", np.ones(4, np.float32))
    np.testing.assert_array_equal(found, [1, np.nan])
