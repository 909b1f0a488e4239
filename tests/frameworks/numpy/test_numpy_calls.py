"""Calls on NumPy's arrays, of shapes and dtypes that a call object has met before and of others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import complex_ops
import numpy as np
import pytest
from folders import TIMES, write_op

import pykernels
from pykernels.base import paths
from pykernels.base.dtypes import bfloat16
from pykernels.base.errors import BuildError, CacheError, CallError, KernelError, PykernelsWarning
from pykernels.frameworks.numpy import native, plugin
from pykernels.load import loaded

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def ops() -> Iterator[dict[str, pykernels.OpModule]]:
    yield pykernels.load_ops(paths.OPS)
    pykernels.unload_ops()


@pytest.fixture(params=["native", "without a compiler"])
def tanh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, ops: Any) -> Callable[..., np.ndarray]:
    """The op bound to one array, natively or as where there is no compiler."""
    if request.param != "native":
        monkeypatch.setattr(native, "make_call", lambda: None)
    call = plugin.bind(ops["tanh"], "tanh_forward", [[np.ones(1)]], {}, [1])
    return lambda x: call(x)[0]


@pytest.mark.parametrize("dtype", [np.float16, bfloat16(), np.float32, np.float64, ">f4"])
def test_arrays_of_any_layout(tanh: Callable[..., np.ndarray], dtype: Any) -> None:
    for _ in range(3):
        for shape in [(), (0,), (5,), (3, 0), (4, 6), (2, 3, 4)]:
            x = RNG.normal(size=shape).astype(dtype)
            read_only = x.copy()
            read_only.flags.writeable = False
            shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)
            shifted[...] = x
            for given in (x, x.T, x[..., ::2] if x.ndim else x, read_only, shifted, x.view(np.recarray), x[()]):
                y = tanh(given)
                assert type(y) is np.ndarray
                assert (y.shape, y.dtype) == (given.shape, np.dtype(dtype).newbyteorder("="))
                wanted = np.tanh(given.astype(np.float64))
                tolerance = {"float16": 2e-3, "bfloat16": 2**-8}.get(y.dtype.name, 1e-6)
                np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=tolerance)


def test_complex_numbers(tmp_path: Path) -> None:
    ops = pykernels.load_ops(complex_ops.write_ops(tmp_path))
    for name, dtype in product(complex_ops.OPS, ("complex64", "complex128")):
        arrays = complex_ops.arguments(name, dtype, 3, 4)
        wanted = ops[name].kernel(f"{name}_forward").function(tuple(arrays))
        found = getattr(ops[name].api, name)(*arrays)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with pytest.raises(CallError, match="'x' has dtype complex.*, and the definition does not name complex dtypes"):
        ops["unnamed"].api.unnamed(np.ones(2, complex))
    pykernels.unload_ops(*ops)


def test_more_shapes_than_are_remembered(tanh: Callable[..., np.ndarray]) -> None:
    for _ in range(2):
        for n in range(150):
            np.testing.assert_allclose(tanh(np.full(n, 0.5)), np.tanh(0.5))


def test_results_are_new_and_inputs_are_not_kept(tanh: Callable[..., np.ndarray]) -> None:
    x = np.ones(3)
    first, second = tanh(x), tanh(x)
    first[...] = 7
    np.testing.assert_array_equal(second, np.tanh(x))
    before = sys.getrefcount(x)
    for _ in range(100):
        tanh(x)
    assert sys.getrefcount(x) == before
    assert sys.getrefcount(second) == sys.getrefcount(first)


def test_threads_share_a_call_object(tanh: Callable[..., np.ndarray]) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        for n in np.random.default_rng(seed).integers(1, 100, 300):
            if not np.allclose(tanh(np.full(n, 0.5)), np.tanh(0.5)):
                wrong.append(int(n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_failures_name_the_line_in_every_call(load: Callable[..., str]) -> None:
    name = load(
        "def forward(args):\n    (x,) = args\n    if x[0] < 0:\n        raise ValueError('negative')\n"
        "    return x + 1\n"
        "def backward(args):\n    return args[0]\n"
    )
    run = loaded.modules[name].api.__dict__[name]
    for _ in range(3):
        np.testing.assert_array_equal(run(np.ones(3)), 2)
        with pytest.raises(KernelError, match=r"_py_kernel.py:4: .*negative"):
            run(np.full(3, -1.0))


@pytest.mark.filterwarnings("ignore:.*runs as Python")
def test_kernels_that_run_as_python(load: Callable[..., str]) -> None:
    name = load(
        "def forward(args):\n    (x,) = args\n    return x + len(str(x.tolist()))\n"
        "def backward(args):\n    return args[0]\n"
    )
    run = loaded.modules[name].api.__dict__[name]
    for _ in range(3):
        np.testing.assert_array_equal(run(np.array([1.0, 2.0])), [11, 12])


def test_states_change_in_place_and_read_only_ones_are_refused(ops: dict[str, pykernels.OpModule]) -> None:
    x, ones = RNG.normal(size=(5, 3)), np.ones(3)
    op = ops["batch_norm"].forward
    inputs = [[x], [ones], [ones], [np.zeros(3)], [np.ones(3)]]
    attributes = op.parse_attributes({"momentum": 0.5})
    call = plugin.bind(ops["batch_norm"], op.name, inputs, attributes, [1] * len(op.outputs))
    for _ in range(3):
        means = np.zeros((3, 2))
        mean, variance = means[:, 0], np.ones(3)
        call(x, ones, ones, mean, variance)
        contiguous = np.zeros(3)
        call(x, ones, ones, contiguous, np.ones(3))
        np.testing.assert_array_equal(mean, contiguous)
        contiguous.flags.writeable = False
        with pytest.raises(CallError, match="changes its input 'moving_mean', but the array is read-only"):
            call(x, ones, ones, contiguous, variance)


def test_reloaded_ops_are_called_anew(tmp_path: Path) -> None:
    for factor in (2, 3):
        folder = write_op(tmp_path, "times", TIMES.format(factor=factor))
        times = pykernels.load_ops(folder)["times"].api.times
        for _ in range(3):
            np.testing.assert_array_equal(times(np.ones(2)), factor)
    pykernels.unload_ops("times")


@pytest.mark.parametrize(
    "error", [BuildError("there is no Python.h"), CacheError("read-only"), ImportError("no symbol")]
)
def test_where_nothing_can_be_built_calls_go_through_python(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise error

    monkeypatch.setattr(native, "_compile", refuse)
    native._find.cache_clear()
    told = pytest.warns(PykernelsWarning, match="no symbol") if isinstance(error, ImportError) else nullcontext()
    try:
        with told:
            assert native.make_call() is None
    finally:
        native._find.cache_clear()
