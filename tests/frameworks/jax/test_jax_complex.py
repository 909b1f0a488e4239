"""Complex arrays: values, gradients by JAX's convention, and tangents are those of JAX's own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import complex_ops
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pykernels
from pykernels.base.errors import PykernelsError

THEIRS: dict[str, Callable[..., Any]] = {
    "times": lambda a, b: a * b,
    "size": jnp.abs,
    "polar": lambda r, angle: r * jnp.exp(1j * angle),
    "mixed": lambda x: x * x + 2j * jnp.conj(x) + x.real,
}


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, pykernels.OpModule]]:
    loaded = pykernels.load_ops(complex_ops.write_ops(tmp_path_factory.mktemp("complex")))
    yield loaded
    pykernels.unload_ops(*loaded)


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("is_wide", [False, True], ids=["complex64", "complex128"])
def test_values_and_derivatives_are_those_of_jax(ops: dict[str, pykernels.OpModule], name: str, is_wide: bool) -> None:
    ours, theirs = getattr(ops[name].api, name), THEIRS[name]
    dtype, digits = ("complex128", 1e-12) if is_wide else ("complex64", 1e-5)
    with jax.enable_x64(is_wide):
        given = list(map(jnp.asarray, complex_ops.arguments(name, dtype, 3, 4)))
        along = list(map(jnp.asarray, complex_ops.arguments(name, dtype, 3, 4, seed=1)))
        (y, pull), (wanted, their_pull) = (jax.vjp(jax.jit(f), *given) for f in (ours, theirs))
        assert y.dtype == wanted.dtype
        seed = 1j * wanted + 2 if jnp.iscomplexobj(wanted) else wanted + 2
        seed = seed.astype(wanted.dtype)
        tangents = (jax.jvp(f, given, along)[1] for f in (ours, theirs))
        mapped = (jax.vmap(f)(*given) for f in (ours, theirs))
        pairs = [(y, wanted), *zip(pull(seed), their_pull(seed)), tuple(tangents), tuple(mapped)]
        for one, other in pairs:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=digits, atol=digits)


def test_gradients(ops: dict[str, pykernels.OpModule]) -> None:
    (x,) = complex_ops.arguments("mixed", "complex64", 5)
    times, mixed, size = (getattr(ops[name].api, name) for name in ("times", "mixed", "size"))
    holomorphic = jax.grad(lambda x: times(x, x).sum(), holomorphic=True)(x)
    np.testing.assert_allclose(holomorphic, 2 * x, rtol=1e-5)
    for ours, theirs in ((size, THEIRS["size"]), (lambda x: size(mixed(x)), lambda x: jnp.abs(THEIRS["mixed"](x)))):
        found, wanted = (jax.grad(lambda x, f=f: (f(x) ** 2).sum())(x) for f in (ours, theirs))
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    # The gradient of the gradient is traced.
    second = [jax.jvp(jax.grad(lambda x, f=f: (f(x) ** 2).sum()), (x,), (x * 1j,))[1] for f in (size, jnp.abs)]
    np.testing.assert_allclose(*second, rtol=1e-4)


def test_a_definition_that_does_not_name_complex_dtypes_is_refused(ops: dict[str, pykernels.OpModule]) -> None:
    with pytest.raises(
        PykernelsError, match="'x' has dtype complex64, and the definition does not name complex dtypes"
    ):
        ops["unnamed"].api.unnamed(jnp.ones(3, jnp.complex64))
