"""The shipped ops on JAX's arrays, called and fused: what the plain NumPy run computes, with gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, Case, outputs
from steps import forward_step

import pykernels.jax
from pykernels.base import paths

TOLERANCES = {"float16": 5e-3, "float32": 3e-6, "float64": 1e-12}
# Ops with loops over elements are called where others are fused.
pytestmark = [pytest.mark.usefixtures("ops"), pytest.mark.filterwarnings("ignore:op '.*' is loaded with fuse=True")]
ONE_EACH = list({case.op: case for case in reversed(CASES)}.values())


@pytest.fixture(scope="module", params=[False, True], ids=["called", "fused"])
def ops(request: pytest.FixtureRequest) -> Iterator[None]:
    pykernels.load_ops(paths.OPS, fuse=request.param)
    yield
    pykernels.unload_ops()


def function_of(case: Case) -> Any:
    function = getattr(pykernels.jax, case.op)
    return lambda *arrays: outputs(function(*arrays, is_train=False, **case.attributes))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_plain_numpy_run(case: Case) -> None:
    for dtype in case.dtypes:
        with jax.enable_x64(True):
            results = function_of(case)(*map(jnp.asarray, case.inputs(dtype)))
        for result, expected in zip(results, forward_step(case, dtype).run_plain(), strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(result, expected, TOLERANCES[dtype], TOLERANCES[dtype])


@pytest.mark.parametrize("case", [case for case in ONE_EACH if case.variables], ids=str)
def test_gradients_equal_finite_differences(case: Case) -> None:
    with jax.enable_x64(True):
        arrays = [jnp.asarray(x) for x in case.inputs("float64")]
        weights = [jnp.asarray(np.random.default_rng(1).normal(size=y.shape)) for y in function_of(case)(*arrays)]

        @jax.jit
        def loss(variables: list[Any]) -> Any:
            whole = list(arrays)
            for at, variable in zip(case.variables, variables):
                whole[at] = variable
            reals = [y * w for y, w in zip(function_of(case)(*whole), weights) if y.dtype == w.dtype]
            # An op whose second output only serves its gradient has no gradient of that.
            return reals[0].sum()

        variables = [arrays[at] for at in case.variables]
        gradients = jax.grad(loss)(variables)
        directions = [jnp.asarray(np.random.default_rng(2).normal(size=v.shape)) for v in variables]
        step = 1e-6
        ahead, behind = (loss([v + s * d for v, d in zip(variables, directions)]) for s in (step, -step))
        along = sum(float((g * d).sum()) for g, d in zip(gradients, directions))
    assert along == pytest.approx(float(ahead - behind) / (2 * step), rel=1e-6, abs=1e-8)


def test_batch_norm_returns_its_new_states() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))
    ones, zeros = jnp.ones(3), jnp.zeros(3)

    def loss(gamma: Any) -> Any:
        y, mean, variance = pykernels.jax.batch_norm(x, gamma, zeros, zeros, ones, momentum=0.75)
        return (y**2).sum(), (mean, variance)

    # A call that is differentiated is part of a training pass.
    gradient, (mean, variance) = jax.jit(jax.grad(loss, has_aux=True))(ones)
    np.testing.assert_allclose(mean, x.mean(0) / 4, rtol=1e-5)
    np.testing.assert_allclose(variance, 0.75 + x.var(0) / 4, rtol=1e-5)
    np.testing.assert_allclose(gradient, 16 * (x.var(0) / (x.var(0) + 1e-3)), rtol=1e-4)
    y, mean, _ = pykernels.jax.batch_norm(x, ones, zeros, zeros, ones, eps=0)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(mean, zeros)
    assert zeros.sum() == 0, "states that were given stay"
    _, mean, _ = pykernels.jax.batch_norm(x, ones, zeros, zeros, ones, momentum=0, is_train=True)
    np.testing.assert_allclose(mean, x.mean(0), rtol=1e-4, atol=1e-6)


def test_dropout_drops_where_it_is_differentiated() -> None:
    x = jnp.ones(1000)
    y, _ = pykernels.jax.dropout(x, p=0.25, seed=3)
    np.testing.assert_array_equal(y, x)
    gradient = jax.grad(lambda x: pykernels.jax.dropout(x, p=0.25, seed=3)[0].sum())(x)
    assert set(np.unique(gradient)) == {0, np.float32(1 / 0.75)}
    kept = jax.grad(lambda x: pykernels.jax.dropout(x, p=0.25, seed=3, is_train=False)[0].sum())(x)
    np.testing.assert_array_equal(kept, x)


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_bfloat16_is_computed_in_float32(case: Case) -> None:
    wide = [jnp.asarray(x) for x in case.inputs("float32")]
    halves = [x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x for x in wide]
    expected = function_of(case)(*(half.astype(x.dtype) for half, x in zip(halves, wide)))
    for result, single in zip(jax.jit(function_of(case))(*halves), expected, strict=True):
        wanted = single.astype(jnp.bfloat16) if single.dtype == jnp.float32 else single
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)
