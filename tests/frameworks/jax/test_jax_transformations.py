"""Ops under JAX's transformations: compiled, differentiated, batched, saved, spread over devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import SQUARES, SQUARES_PROP, write_op
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from process import program

import pykernels
import pykernels.jax
from pykernels.base.refusals import NotProvided, RefusedCall

pytestmark = pytest.mark.usefixtures("ops")
X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32))


def api(name: str) -> Any:
    return getattr(pykernels.list_ops()[name].api, name)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def squared(function: Any) -> Any:
    return lambda x: (function(x) ** 2).sum()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_values_and_gradients_equal_jaxs_own(is_compiled: bool) -> None:
    compiled = jax.jit if is_compiled else lambda function: function
    for ours, theirs in ((api("sigmoid"), jax.nn.sigmoid), (api("softmax"), jax.nn.softmax)):
        close(compiled(ours)(X), theirs(X))
        close(compiled(jax.grad(squared(ours)))(X), jax.grad(squared(theirs))(X))
    close(jax.jacrev(api("softmax"))(X[0]), jax.jacrev(jax.nn.softmax)(X[0]))


def test_forward_mode_and_second_derivatives() -> None:
    ours, theirs = api("sigmoid"), jax.nn.sigmoid
    close(jax.jvp(ours, (X,), (2 * X,))[1], jax.jvp(theirs, (X,), (2 * X,))[1])
    close(jax.jacfwd(ours)(X[0]), jax.jacfwd(theirs)(X[0]))
    close(jax.jvp(api("softmax"), (X,), (X[::-1],))[1], jax.jvp(jax.nn.softmax, (X,), (X[::-1],))[1])
    close(jax.hessian(lambda x: ours(x).sum())(X[0]), jax.hessian(lambda x: theirs(x).sum())(X[0]))
    layer_norm = jax.jvp(lambda x: api("layer_norm")(x, jnp.ones(6), jnp.zeros(6), eps=0.0), (X,), (X[::-1],))[1]
    close(layer_norm, jax.jvp(lambda x: jax.nn.standardize(x, epsilon=0), (X,), (X[::-1],))[1])


def test_all_derivatives_of_an_op_that_is_defined_in_python(tmp_path: Path) -> None:
    pykernels.load_ops(write_op(tmp_path, "squares", SQUARES, SQUARES_PROP))
    try:
        ours, theirs = (
            lambda x, w: pykernels.jax.squares(x, w, scale=1.5),
            lambda x, w: 1.5 * (w * x * x).sum(axis=-1),
        )
        inputs, both = (X[:2], X[2]), (0, 1)
        for derivative in (
            lambda f: jax.jvp(f, inputs, inputs)[1],
            lambda f: jax.jacfwd(jax.jacrev(f, both), both)(*inputs),
            lambda f: jax.jacrev(jax.jacrev(f, both), both)(*inputs),
        ):
            jax.tree.map(close, derivative(ours), derivative(theirs))
    finally:
        pykernels.unload_ops("squares")


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    return jax.nn.standardize(x, epsilon=1e-5) * gamma + beta


def test_several_inputs_and_outputs_along_tangents() -> None:
    labels = jnp.arange(8) % 6

    def loss(x: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], axis=1)[:, 0]

    op = pykernels.jax.softmax_cross_entropy
    (_, probability), (along, along_probability) = jax.jvp(lambda x: op(x, labels), (X,), (X[::-1],))
    close(probability, jax.nn.softmax(X))
    close(along, jax.jvp(loss, (X,), (X[::-1],))[1])
    close(along_probability, jax.jvp(jax.nn.softmax, (X,), (X[::-1],))[1])
    # The gradient of a derivative along tangents is that of its kernel, which JAX traces.
    close(
        jax.grad(lambda x: jax.jvp(api("layer_norm"), (x, X[0], X[1]), (X[2:4], X[1], X[2]))[1].sum())(X[:2]),
        jax.grad(lambda x: jax.jvp(_layer_norm, (x, X[0], X[1]), (X[2:4], X[1], X[2]))[1].sum())(X[:2]),
    )


def test_what_has_no_derivative_along_tangents_says_so(tmp_path: Path) -> None:
    kernel = """
        import numpy as np


        def forward(args):
            return args[0] / args[0].sum()


        def backward(args):
            dy, x, y = args
            dx = np.empty_like(x)
            for i in range(x.shape[0]):  # which cannot be traced
                dx[i] = (dy[i] - (dy * y).sum()) / x.sum()
            return dx
    """
    pykernels.load_ops(write_op(tmp_path, "shares", kernel))
    message = "'shares_forward' has no forward-mode .*: its definition has no Tangent"
    try:
        with pytest.raises(NotProvided, match=message):
            jax.jvp(pykernels.jax.shares, (X,), (X,))
    finally:
        pykernels.unload_ops("shares")


def test_batch_norm_along_tangents() -> None:
    """It follows from the second derivative."""
    rest = X[2], X[3], jnp.zeros(6), jnp.ones(6)

    def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return (x - x.mean(axis=0)) / jnp.sqrt(x.var(axis=0) + 1e-3) * gamma + beta

    ours = jax.jvp(lambda x: pykernels.jax.batch_norm(x, *rest, is_train=True)[0], (X,), (X[::-1],))[1]
    close(ours, jax.jvp(lambda x: batch_norm(x, *rest[:2]), (X,), (X[::-1],))[1])


def test_rematerialization_and_loops_of_xla() -> None:
    def chain(sigmoid: Any) -> Any:
        twice = jax.checkpoint(lambda x: sigmoid(sigmoid(x)))
        return lambda x: jax.lax.scan(lambda c, _: (twice(c), None), x, length=3)[0].sum()

    close(jax.grad(chain(api("sigmoid")))(X), jax.grad(chain(jax.nn.sigmoid))(X))


def primitives(function: Any, *args: Any) -> list[str]:
    return [equation.primitive.name for equation in jax.make_jaxpr(function)(*args).eqns]


def test_batches() -> None:
    sigmoid, softmax, dense = api("sigmoid"), api("softmax"), api("dense")
    batch, weights = X.reshape(2, 4, 6), jnp.ones((2, 3, 6))
    # In one call: an elementwise op, and one that may be split along an axis.
    assert primitives(jax.vmap(sigmoid), batch) == ["pykernels"]
    assert primitives(jax.vmap(softmax), batch) == ["reshape", "pykernels", "reshape"]
    assert "scan" in primitives(jax.vmap(dense), batch, weights)
    close(jax.vmap(sigmoid, in_axes=1)(X), jax.nn.sigmoid(X).T)
    close(jax.vmap(softmax, in_axes=1, out_axes=2)(batch), jnp.moveaxis(jax.nn.softmax(batch), 1, 2))
    close(jax.vmap(dense, in_axes=(0, None))(batch, weights[0]), batch @ weights[0].T)
    close(jax.vmap(dense)(batch, weights), jnp.einsum("bij,bkj->bik", batch, weights))
    close(jax.vmap(jax.grad(squared(softmax)))(X), jax.grad(squared(softmax))(X))
    assert jax.vmap(softmax)(jnp.ones((0, 3, 2))).shape == (0, 3, 2)


@pytest.fixture(scope="module")
def mesh() -> jax.sharding.Mesh:
    if len(jax.devices()) < 4:
        pytest.skip("JAX has started with fewer devices")
    return jax.make_mesh((4,), ("devices",), axis_types=(AxisType.Auto,))


def test_partitioned_programs_split_what_the_definition_splits(mesh: jax.sharding.Mesh) -> None:
    parts = jax.device_put(X, NamedSharding(mesh, PartitionSpec("devices")))
    for name, is_split in (("softmax", True), ("dropout", False)):
        call = {"softmax": api("softmax"), "dropout": lambda x: api("dropout")(x, 0.5, seed=1)}[name]
        program_of = jax.jit(call).lower(parts).compile()
        close(program_of(parts), call(X))
        assert ("all-gather" in program_of.as_text()) is not is_split
        if is_split:
            assert program_of(parts).sharding.spec == PartitionSpec("devices")
    gradient = jax.jit(jax.grad(squared(api("softmax"))))
    assert "all-gather" not in gradient.lower(parts).compile().as_text()
    close(gradient(parts), gradient(X))


def test_shard_map(mesh: jax.sharding.Mesh) -> None:
    layer_norm, ones, zeros = api("layer_norm"), jnp.ones(6), jnp.zeros(6)
    rows, whole = PartitionSpec("devices"), PartitionSpec()
    spread = jax.shard_map(layer_norm, mesh=mesh, in_specs=(rows, whole, whole), out_specs=rows)
    close(spread(X, ones, zeros), layer_norm(X, ones, zeros))
    # The gradient of what all share is summed over the devices.
    shared = jax.grad(lambda gamma: (spread(X, gamma, zeros) * X).sum())(ones)
    close(shared, jax.grad(lambda gamma: (layer_norm(X, gamma, zeros) * X).sum())(ones))


def test_donated_arrays_are_used_again() -> None:
    given = X + 0
    close(jax.jit(api("sigmoid"), donate_argnums=0)(given), jax.nn.sigmoid(X))
    assert given.is_deleted()


def test_exported_functions_run_in_another_process(tmp_path: Path) -> None:
    function = jax.jit(lambda x: api("leaky_relu")(api("softmax")(x) - 0.1, 0.3))
    allowed = [export.DisabledSafetyCheck.custom_call("pykernels")]
    saved = export.export(function, disabled_checks=allowed)(jax.ShapeDtypeStruct(X.shape, X.dtype)).serialize()
    (tmp_path / "function").write_bytes(saved)
    np.savez(tmp_path / "arrays.npz", x=X, y=function(X))
    program(
        """
        import numpy as np
        import pykernels
        import pykernels.jax
        from jax import export

        pykernels.load_ops()
        arrays = np.load("arrays.npz")
        y = export.deserialize(open("function", "rb").read()).call(arrays["x"])
        np.testing.assert_array_equal(y, arrays["y"])
        """,
        cwd=tmp_path,
    )
    with pytest.raises(RefusedCall, match="for shapes that are known"):
        export.export(function, disabled_checks=allowed)(
            jax.ShapeDtypeStruct(export.symbolic_shape("n, 6"), np.float32)
        )


def test_large_arrays_are_shared_among_threads() -> None:
    # Not a multiple of any piece.
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 100_003)).astype(np.float32))
    close(jax.jit(api("tanh"))(x), jnp.tanh(x))
    close(jax.jit(api("softmax"))(x.T), jax.nn.softmax(x.T))


def test_without_64_bit_numbers_results_have_32(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "whole_cpp_def.cpp").write_text(
        '#include "oneflow/core/framework/framework.h"\n\nREGISTER_USER_OP("whole_forward")\n'
        '    .Input("x", "floating[...]")\n    .Output("y", "int64[...]");\n'
    )
    (tmp_path / "whole" / "whole_py_kernel.py").write_text("def forward(args):\n    return args[0].astype('int64')\n")
    (tmp_path / "whole" / "whole_py_api.py").write_text("")
    pykernels.load_ops(tmp_path)
    for enabled, dtype in ((False, "int32"), (True, "int64")):
        with jax.enable_x64(enabled):
            y = jax.jit(pykernels.jax.whole)(X * 10)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, np.trunc(X * 10))
    pykernels.unload_ops("whole")
