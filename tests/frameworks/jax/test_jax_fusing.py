"""Ops that are loaded with ``fuse=True``: XLA sees through them, also in gradients and exported programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import write_op
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from process import CHECKOUT, python

import pykernels
import pykernels.jax
from pykernels.base import paths
from pykernels.base.errors import PykernelsWarning

DEFINITION = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        arguments, auxiliary_states = ("x",), {states}

        def infer_shape(self, in_shape):
            return in_shape, in_shape, in_shape * len(self.auxiliary_states)
"""


@pytest.fixture
def fuse(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Loads a kernel with ``fuse=True`` and gives its function."""
    names: list[str] = []

    def load_one(body: str, *states: str) -> Any:
        names.append(f"fused_{tmp_path.name}_{len(names)}")
        lines = textwrap.indent(textwrap.dedent(body), "    ")
        kernel = f"import numpy as np\n\n\ndef forward(args):\n{lines}\n\ndef backward(args):\n    return args[0]\n"
        pykernels.load_ops(write_op(tmp_path, names[-1], kernel, DEFINITION.format(states=states)), fuse=True)
        return getattr(pykernels.jax, names[-1])

    yield load_one
    pykernels.unload_ops(*names)


def is_fused(function: Callable[..., Any], *arrays: Any) -> bool:
    return "custom_call" not in jax.jit(function).lower(*arrays).as_text()


def test_a_program_has_no_calls_and_the_same_values_and_gradients() -> None:
    folders = [paths.OPS / name for name in ("layer_norm", "leaky_relu")]
    layer_norm, leaky_relu = (module.api for module in pykernels.load_ops(*folders).values())

    def loss(x: Any, gamma: Any) -> Any:
        return (leaky_relu.leaky_relu(layer_norm.layer_norm(x * 2, gamma, gamma), 0.5) ** 2).sum()

    rng = np.random.default_rng(0)
    x, gamma = (jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in ((3, 4, 5), (5,)))
    whole = jax.value_and_grad(loss, (0, 1))
    for function in (whole, jax.vmap(whole, (0, None))):
        pykernels.load_ops(*folders, fuse=False)
        assert not is_fused(function, x, gamma)
        expected = function(x, gamma)
        pykernels.load_ops(*folders, fuse=True)
        assert is_fused(function, x, gamma)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-4, 1e-4), function(x, gamma), expected)
    # An exporter would refuse a call of ours.
    saved = export.export(jax.jit(loss))(x, gamma).serialize()
    np.testing.assert_allclose(export.deserialize(saved).call(x, gamma), loss(x, gamma), rtol=1e-6)
    pykernels.unload_ops("layer_norm", "leaky_relu")


def test_states_and_what_kernels_write_into(fuse: Callable[..., Any]) -> None:
    body = """
        x, seen, most = args
        seen += x
        np.maximum(x, most, out=most)
        most[1:] = 9
        return -seen @ x + abs(most)
    """
    op, x = fuse(body, "seen", "most"), jnp.array([1.0, -2.0], jnp.float32)
    assert is_fused(op, x, x, x)
    results = op(x, jnp.array([2.0, 5.0]), jnp.zeros(2))
    for result, expected in zip(results, ([4.0, 12.0], [3.0, 3.0], [1.0, 9.0]), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_several_devices(fuse: Callable[..., Any]) -> None:
    op = fuse("y = np.zeros_like(args[0])\ny[1:] = args[0][1:]\ny[0] += np.float32(1)\nreturn y")
    mesh = jax.make_mesh((4,), ("devices",), axis_types=(AxisType.Auto,))
    rows, x = PartitionSpec("devices"), jnp.arange(8.0)
    whole, spread = (
        op(jax.device_put(x, NamedSharding(mesh, rows))),
        jax.shard_map(op, mesh=mesh, in_specs=rows, out_specs=rows),
    )
    np.testing.assert_array_equal(whole, [1, 1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(spread(x), [1, 1, 1, 3, 1, 5, 1, 7])
    assert is_fused(spread, x)


REFUSED = {
    "a loop": ("for i in range(x.shape[0]):\n    x[i]\nreturn -x", r"_py_kernel\.py:6: a loop over elements"),
    "what JAX lacks": (
        "return -np.lib.stride_tricks.sliding_window_view(x, 1)[:, 0]",
        r"_py_kernel\.py:6: JAX cannot trace the kernel: ",
    ),
    "a view that is written": (
        "y = np.ones_like(x)\nz = y.reshape(-1)\nz -= x + 1\nreturn y",
        r"_py_kernel\.py:8: JAX cannot trace the kernel: it writes into a view of an array",
    ),
    "a choice by value": ("if x[0] < 100:\n    x = x * -1\nreturn x", r"_py_kernel\.py:6: JAX cannot trace"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_called_as_it_is(fuse: Callable[..., Any], name: str) -> None:
    body, message = REFUSED[name]
    op, x = fuse(f"(x,) = args\n{body}\n"), jnp.arange(4.0)
    given = rf"op 'fused_\w+' is loaded with fuse=True, but JAX calls it as it is: .*{message}"
    with pytest.warns(PykernelsWarning, match=given):
        assert not is_fused(op, x)
    np.testing.assert_array_equal(op(x), -x)  # warns only once


@pytest.mark.thorough
def test_the_benchmark(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "fuse.py", "jax", "--rounds", "1", "--sizes", "1e4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("fused ÷ call", "mish", "hard_swish", "forward + backward", "10,000"):
        assert shown in done.stdout
