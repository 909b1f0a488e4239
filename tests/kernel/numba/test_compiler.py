"""Compiled kernels do what the plain NumPy run of the same function does, and say so when they cannot."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from process import HELPERS, program

from pykernels.base.errors import KernelError, PykernelsWarning

DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
FLOATS = DTYPES[:3]
SHAPES = ((), (0,), (5,), (2, 0, 3), (2, 3), (2, 3, 4), (1, 2, 1, 2, 2))
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}


def numbers_of(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).integers(0 if dtype in ("uint8", "bool") else -3, 4, shape)
    return np.asarray(values * (0.37 if dtype in FLOATS else 1)).astype(dtype)


def agree(folder: Path, text: str, *inputs: np.ndarray, numbers: Any = None, like: Any = None) -> None:
    """The compiled kernel and the plain run give the same, and the kernel really is compiled."""
    kernel = kernel_of(folder, text)
    outputs = [np.empty_like(inputs[0] if like is None else like)]
    numbers = numbers or {}
    built = build(kernel, inputs, outputs, numbers)
    assert built.reason is None
    assert run(built, inputs, outputs, numbers) is None
    (expected,) = plain(kernel, inputs, outputs, numbers)
    tolerance = TOLERANCE.get(str(expected.dtype), 0)
    np.testing.assert_allclose(outputs[0], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(tmp_path: Path, dtype: str) -> None:
    agree(tmp_path, "def forward(args):\n    (x,) = args\n    return (x > 0) * x\n", numbers_of((4, 3), dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_rank_and_empty_arrays(tmp_path: Path, shape: tuple[int, ...]) -> None:
    agree(
        tmp_path, "def forward(args):\n    (x,) = args\n    return 1 / (1 + np.exp(-x))\n", numbers_of(shape, "float32")
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_integers_wrap_as_in_numpy(tmp_path: Path, dtype: str) -> None:
    x = np.array([1, 100, 120], dtype)
    agree(tmp_path, "def forward(args):\n    (x,) = args\n    return (x + 100) // 2 * 3\n", x)


def test_float32_is_computed_in_float32(tmp_path: Path) -> None:
    # In float64 the sum would keep the small part.
    x = np.array([1e8, 3.0], np.float32)
    agree(tmp_path, "def forward(args):\n    (x,) = args\n    return (x + 1.25) - x\n", x)
    agree(tmp_path, "def forward(args, *, a):\n    (x,) = args\n    return (x + a) - x\n", x, numbers={"a": 1.25})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        "return np.where(x > 0, x, 0.01 * x)",
        "return np.maximum(x, 0) + np.clip(x, -0.5, 0.5)",
        "y = np.zeros_like(x)\n    y += x\n    y *= 2\n    y -= 0.5\n    return y",
        "return x / x.shape[0] + len(x)",
        "return x - x.max()",
        "return x * x.sum() + x.mean()",
        "return np.tanh(x) + np.sqrt(np.abs(x)) + np.log1p(np.abs(x))",
        "return x.reshape(-1)[::-1].copy().reshape(x.shape)",
        "return np.ascontiguousarray(x.T).T + x",
        "return _twice(x)",
        "return x ** 2 + 2 ** x",
        "a = 1.0\n    for i in range(3):\n        a = a * 0.5\n    return x * a",
    ],
)
def test_numpy_expressions(tmp_path: Path, body: str) -> None:
    helper = "def _twice(x):\n    return 2 * x\n"
    agree(tmp_path, f"{helper}def forward(args):\n    (x,) = args\n    {body}\n", numbers_of((3, 4), "float32"))


def test_loops_write_into_outs(tmp_path: Path) -> None:
    text = """
        def forward(args, outs, *, alpha):
            x, w = args
            (y,) = outs
            for i in range(x.shape[0]):
                total = 0.0
                for j in range(x.shape[1]):
                    total += x[i, j] * w[j]
                y[i] = alpha * total
    """
    x, w = numbers_of((3, 4), "float64"), numbers_of((4,), "float64", 1)
    agree(tmp_path, text, x, w, numbers={"alpha": 0.5}, like=np.empty(3))


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrix_products(tmp_path: Path, rows: int, dtype: str) -> None:
    x, w = numbers_of((rows, 4), dtype), numbers_of((2, 4), dtype, 1)
    agree(
        tmp_path / "mm",
        "def forward(args):\n    x, w = args\n    return x @ w.T\n",
        x,
        w,
        like=np.empty((rows, 2), dtype),
    )
    agree(
        tmp_path / "mv", "def forward(args):\n    x, w = args\n    return x @ w[0]\n", x, w, like=np.empty(rows, dtype)
    )
    agree(tmp_path / "vv", "def forward(args):\n    x, w = args\n    return x + np.dot(w[0], w[1])\n", x, w)


def test_several_outputs_and_attributes_of_every_kind(tmp_path: Path) -> None:
    text = """
        def forward(args, *, k, flag, mode, pads, dtype):
            (x,) = args
            y = x * k if flag else x
            if mode == "far":
                y = y + pads[0] - pads[1]
            return y, y.sum(), (x > 0).astype(dtype)
    """
    kernel = kernel_of(tmp_path, text)
    x = numbers_of((3,), "float64")
    outputs = [np.empty(3), np.empty(()), np.empty(3, np.int32)]
    for mode in ("far", "near"):
        numbers = {"k": 3, "flag": True}
        constants = {"mode": mode, "pads": (5, 1), "dtype": np.dtype(np.int32)}
        built = build(kernel, [x], outputs, numbers, constants)
        assert built.reason is None
        assert run(built, [x], outputs, numbers) is None
        for out, expected in zip(outputs, plain(kernel, [x], outputs, numbers, constants)):
            np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("pass", "returned None"),
        ("return x, x", r"returned 2 arrays, but the op has 1 outputs \(y\)"),
        ("return x.sum()", "returned shape|returned 0 dimensions"),
        ("return x.astype(np.float64)", "returned dtype float64 for output 'y', but the definition infers float32"),
        ("x[0] = 1\n    return x", "writes to an input|read-only"),
        ("y = x\n    y *= 2\n    return y + x", "write to a copy or to an output"),
        ("y = x\n    y += x\n    return y + x", "write to a copy or to an output"),
        ("raise NotImplementedError('later')", "raised NotImplementedError: later"),
    ],
)
def test_what_cannot_be_right_is_reported_when_built(tmp_path: Path, body: str, told: str) -> None:
    x = np.ones(3, np.float32)
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {body}\n")
    with pytest.raises(KernelError, match=rf"op 'op_forward': {tmp_path}/op_py_kernel\.py:\d+: .*({told})"):
        build(kernel, [x], [np.empty_like(x)])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return x[1:]", r"returned shape \(2,\) for output 'y', but the definition infers \(3,\)"),
        (
            "if x[0] > 0:\n        raise ValueError('too big')\n    return x",
            r"py:6: forward raised ValueError: too big",
        ),
        ("y = x.copy()\n    y[len(x)] = 1\n    return y", "raised IndexError: index 3 is out of bounds"),
    ],
)
def test_what_goes_wrong_in_a_call_is_reported_in_numpys_words(tmp_path: Path, body: str, told: str) -> None:
    x = np.ones(3, np.float32)
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {body}\n")
    out = np.empty_like(x)
    built = build(kernel, [x], [out])
    assert built.reason is None
    text = run(built, [x], [out])
    assert text is not None
    with pytest.raises(KernelError, match=told):
        raise KernelError(text)
    assert str(tmp_path) in text and "op 'op_forward'" in text


def test_what_numba_cannot_compile_runs_as_python_with_one_warning(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    return eval('x')\n")
    x = numbers_of((2, 3), "float32")
    out = np.empty_like(x)
    with pytest.warns(PykernelsWarning, match=r"'op_forward': forward runs as Python.*because.*py:5.*eval") as told:
        built = build(kernel, [x], [out])
    assert len(told) == 1
    assert run(built, [x], [out]) is None
    np.testing.assert_array_equal(out, x)
    bad = kernel_of(tmp_path / "bad", "def forward(args):\n    return eval('args')[0][1:]\n")
    with pytest.warns(PykernelsWarning):
        built = build(bad, [x[0]], [out[0]])
    assert "returned shape (2,) for output 'y', but the definition infers (3,)" in str(run(built, [x[0]], [out[0]]))


def test_a_kernel_that_calls_c_by_its_address_runs_as_python(tmp_path: Path) -> None:
    """The address would be compiled in, and is another in the next process, which finds the kernel in the cache."""
    text = """
        import ctypes

        def twice(x):
            ctypes.memset(x.ctypes.data, 0, 0)
            return x * 2

        def forward(args):
            return twice(args[0])
    """
    x = np.array([2.0, 3.0])
    out = np.empty_like(x)
    with pytest.warns(PykernelsWarning, match=r"op_py_kernel.py:7: ctypes.memset lies elsewhere in each process"):
        built = build(kernel_of(tmp_path, text), [x], [out])
    assert run(built, [x], [out]) is None
    np.testing.assert_array_equal(out, x * 2)


def test_without_a_compiler_a_kernel_runs_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    kernel = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    return x * 3\n")
    x = np.ones(3)
    with pytest.warns(PykernelsWarning, match=r"no C\+\+ compiler is on the PATH"):
        built = build(kernel, [x], [x.copy()])
    out = np.empty(3)
    assert run(built, [x], [out]) is None
    np.testing.assert_array_equal(out, 3 * x)


def test_editing_a_kernel_or_its_helper_rebuilds_it(tmp_path: Path) -> None:
    x, out = np.ones(2), np.empty(2)
    tools = tmp_path / "tools.py"
    results = []
    for factor, term in ((2, 1), (3, 1), (3, 5)):
        tools.write_text(f"def scale(x):\n    return {factor} * x\n")
        text = f"from tools import scale\ndef forward(args):\n    return scale(args[0]) + {term}\n"
        run(build(kernel_of(tmp_path, text), [x], [out]), [x], [out])
        results.append(out[0])
    assert results == [3, 4, 8]


def test_a_helper_module_may_have_functions_named_as_methods(tmp_path: Path) -> None:
    (tmp_path / "clipping_tools.py").write_text("def clip(x, most):\n    return x if x < most else most\n")
    kernel = kernel_of(
        tmp_path,
        "import clipping_tools as tools\ndef forward(args):\n    (x,) = args\n    y = x * 1\n"
        "    for i in range(x.size):\n        y[i] = tools.clip(x[i], 2.0)\n    return y\n",
    )
    x, out = np.arange(5.0), np.empty(5)
    built = build(kernel, [x], [out])
    assert built.facts.form == "loops", built.facts.reason
    assert run(built, [x], [out]) is None
    np.testing.assert_array_equal(out, np.minimum(x, 2))


def test_a_truncated_cache_entry_heals(tmp_path: Path, new_cache: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return args[0] * 7\n")
    x, out = np.ones(2), np.empty(2)
    build(kernel, [x], [out])
    (entry,) = new_cache.rglob("kernel.so")
    size = entry.stat().st_size
    replacement = entry.with_name("short")
    replacement.write_bytes(entry.read_bytes()[:100])  # a file of its own: the loaded one must stay whole
    replacement.rename(entry)
    with pytest.warns(PykernelsWarning, match="was damaged and is rebuilt"):
        built = build(kernel, [x], [out])
    assert run(built, [x], [out]) is None
    assert out[0] == 7
    assert entry.stat().st_size == size


@pytest.mark.thorough
@pytest.mark.usefixtures("new_cache")
def test_a_warm_start_needs_neither_numba_nor_a_compiler(tmp_path: Path) -> None:
    text = f"""
        import os, sys
        sys.path.insert(0, {str(HELPERS)!r})
        from pathlib import Path
        import numpy as np
        from compiled import build, kernel_of, run
        kernel = kernel_of(Path("ops"), "def forward(args):\\n    return np.sort(args[0]) * len(args[0]) + 0.5\\n")
        x, out = np.ones(2), np.empty(2)
        print(run(build(kernel, [x], [out]), [x], [out]), out[0], "numba" in sys.modules)
    """
    assert program(text, cwd=tmp_path).stdout == "None 2.5 True\n"
    assert program(text, cwd=tmp_path, PATH=str(tmp_path)).stdout == "None 2.5 False\n"


def test_large_arrays_are_left_to_numpy_where_that_is_faster(tmp_path: Path) -> None:
    kernel = kernel_of(
        tmp_path,
        """
        def forward(args):
            (x,) = args
            if x[0] < 0:
                raise ValueError("a number below 0")
            return np.nonzero(x)[0] + x
        """,
    )
    small, large = np.linspace(9, 1, 100), np.linspace(9, 1, 1 << 18)
    built = build(kernel, [small], [small.copy()])
    assert built.facts.form == "whole-array"
    assert built.facts.slower == "op_py_kernel.py:8: nonzero"
    calls: list[str] = []
    for x in (small, large):
        out = np.empty_like(x)
        sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name))
        try:
            assert run(built, [x], [out]) is None
        finally:
            sys.setprofile(None)
        np.testing.assert_array_equal(out, np.arange(x.size) + x)
        assert ("forward" in calls) == (x is large)
    for x in (-small, -large):
        assert "forward raised ValueError: a number below 0" in str(run(built, [x], [np.empty_like(x)]))


def test_concurrent_calls(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    (x,) = args\n    return np.exp(x) / np.exp(x).sum()\n")
    inputs = [numbers_of((200,), "float64", seed) for seed in range(8)]
    outputs = [np.empty(200) for _ in inputs]
    built = build(kernel, inputs[:1], outputs[:1])
    failures: list[Any] = []

    def work(x: np.ndarray, out: np.ndarray) -> None:
        for _ in range(200):
            out[:] = 0
            failures.extend(filter(None, [run(built, [x], [out])]))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, outputs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for x, out in zip(inputs, outputs):
        np.testing.assert_allclose(out, plain(kernel, [x], [out])[0], rtol=1e-14)


def test_compiled_kernels_leave_no_symbols_of_their_own(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "def forward(args):\n    return args[0] * 11\n")
    built = build(kernel, [np.ones(2)], [np.empty(2)])
    assert built.reason is None
    assert not hasattr(ctypes.CDLL(None), "NRT_Allocate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repr(built)


@pytest.mark.thorough
@pytest.mark.parametrize("body", ["return x * 3", "return np.sort(x) * 3", "return x * np.float32(3 * x.sum())"])
def test_what_was_loaded_is_compiled_even_if_the_file_was_edited_since(tmp_path: Path, body: str) -> None:
    x = np.arange(1, 5, dtype=np.float32)
    kernel = kernel_of(tmp_path, f"def forward(args):\n    (x,) = args\n    {body}\n")
    path = kernel.path
    path.write_text(path.read_text().replace("3", "7"))
    (expected,) = plain(kernel, [x], [x])
    y = np.empty_like(x)
    assert run(build(kernel, [x], [y]), [x], [y]) is None
    np.testing.assert_allclose(y, expected, rtol=1e-6)
