"""What goes wrong in ops on JAX's arrays, and who says so."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import TIMES, write_op
from raising_kernels import COMPILED_RAISES, PYTHON_RAISES

import pykernels
import pykernels.jax
from pykernels.base.errors import CallError, LoadError
from pykernels.base.refusals import MissingName, RefusedCall, WrongType

pytestmark = pytest.mark.usefixtures("ops")


def api(name: str) -> Any:
    return getattr(pykernels.list_ops()[name].api, name)


def test_wrong_inputs_are_refused_when_a_function_is_traced() -> None:
    x = jnp.ones((2, 3))
    for wrong, error, message in (
        (lambda: api("sigmoid")(jnp.arange(3)), CallError, "x must be floating point, but is int32"),
        (lambda: api("sigmoid")(x.astype(jnp.float8_e5m2)), CallError, "no op can take arrays of dtype float8_e5m2"),
        (lambda: api("dense")(x, jnp.ones((2, 5))), CallError, r"weight must have the shape \(outputs, inputs\)"),
        (lambda: api("dense")(x, np.ones((2, 3))), CallError, "belong to different frameworks: jax, numpy"),
        (lambda: api("batch_norm")(x, *[jnp.ones(3)] * 4), RefusedCall, "call pykernels.jax.batch_norm"),
        (lambda: pykernels.jax.tanh(x, x), WrongType, "op 'tanh_forward' takes 1 inputs, not 2"),
        (lambda: pykernels.jax.softmax(x, ax=1), CallError, "did you mean 'axis'"),
        (lambda: pykernels.jax.mish(x), MissingName, r"pykernels.jax has no op 'mish'; the loaded ops are: .*tanh"),
    ):
        for run in (wrong, jax.jit(wrong)):
            with pytest.raises(error, match=message):
                run()
    assert "sigmoid" in dir(pykernels.jax)
    assert "axis" in pykernels.jax.softmax.__doc__


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    if "shown" in pykernels.list_ops():
        pykernels.unload_ops("shown")


@pytest.mark.parametrize("kernel", [COMPILED_RAISES, pytest.param(PYTHON_RAISES, marks=pytest.mark.thorough)])
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_kernels_that_raise(kernel: str, folder: Path) -> None:
    write_op(folder, "shown", kernel)
    shown = pykernels.load_ops(folder)["shown"].api.shown
    for run in (shown, jax.jit(shown)):
        with pytest.raises(jax.errors.JaxRuntimeError) as raised:
            jax.block_until_ready(run(jnp.ones(3)))
        first = str(raised.value).splitlines()[0]
        assert re.search(r"op 'shown_forward': .*shown_py_kernel.py:\d+: forward raised", first)
        assert first.endswith("ValueError: three is too many [PK300]")
        assert run(jnp.ones(1)) == 1
    with pytest.raises(jax.errors.JaxRuntimeError, match="op 'shown_backward'.*no gradient of two"):
        jax.block_until_ready(jax.grad(lambda x: shown(x).sum())(jnp.ones(2)))


def test_replaced_ops_are_traced_anew(folder: Path) -> None:
    write_op(folder, "shown", TIMES.format(factor=2))
    pykernels.load_ops(folder)
    compiled = jax.jit(lambda x: pykernels.list_ops()["shown"].api.shown(x))
    kept = compiled.lower(jnp.ones(2)).compile()
    assert compiled(jnp.ones(2)).tolist() == [2, 2]
    write_op(folder, "shown", TIMES.format(factor=3))
    pykernels.reload("shown")
    assert compiled(jnp.ones(2)).tolist() == [3, 3]
    assert kept(jnp.ones(2)).tolist() == [2, 2], "programs that are compiled ahead of time stay"
    pykernels.unload_ops("shown")
    with pytest.raises((LoadError, KeyError), match="shown"):
        compiled(jnp.ones(2))


def test_kernels_may_not_call_ops(folder: Path) -> None:
    write_op(
        folder,
        "shown",
        "import sys\n\ndef forward(args):\n    call = sys.modules['called_in_kernel'].call\n"
        "    call({'a': 1})\n    return args[0] * 1\n\ndef backward(args):\n    return args[0]\n",
    )
    module: Any = types.ModuleType("called_in_kernel")
    module.call = lambda _: api("sigmoid")(jnp.ones(2))
    sys.modules["called_in_kernel"] = module
    try:
        with pytest.warns(pykernels.PykernelsWarning), pytest.raises(jax.errors.JaxRuntimeError, match="in a kernel"):
            jax.block_until_ready(pykernels.load_ops(folder)["shown"].api.shown(jnp.ones(2)))
    finally:
        del sys.modules["called_in_kernel"]
