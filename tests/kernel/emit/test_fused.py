"""Kernels of elementwise operations and reductions on whole arrays: their values are those of the plain NumPy run."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run, signature_of

from pykernels.base.errors import PykernelsWarning
from pykernels.kernel.build import BuiltKernel
from pykernels.kernel.expression.fused import recognise
from pykernels.kernel.expression.nodes import NotExpressible
from pykernels.kernel.read.source import KernelFunction

RNG = np.random.default_rng(7)

SOFTMAX = """
(x,) = args
m = x.max(axis=axis, keepdims=True)
e = np.exp(x - m)
return e / e.sum(axis=axis, keepdims=True)
"""
LOG_SOFTMAX = """
(x,) = args
z = x - np.max(x, axis=axis, keepdims=True)
return z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))
"""
LAYER_NORM = """
x, gamma, beta = args
mean = x.mean(axis=-1, keepdims=True)
return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gamma + beta
"""
LAYER_NORM_GRADIENT = """
x, gamma, dy = args
n = x.shape[-1]
centred = x - x.mean(axis=-1, keepdims=True)
rstd = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
z = centred * rstd
g = dy * gamma
slope, along = g.sum(axis=-1, keepdims=True), (g * z).sum(axis=-1, keepdims=True)
outer = tuple(range(x.ndim - 1))
return rstd * (g - (slope + along * z) / n), (dy * z).sum(axis=outer), dy.sum(axis=outer)
"""
CHANNELS = """
x, gamma, beta = args
mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
scale = gamma / np.sqrt(var + 1e-5)
return x * scale[:, None, None] + (beta - mean * scale).reshape(1, -1, 1, 1)
"""


def kernel(folder: Path, body: str) -> KernelFunction:
    """A kernel with this body, or this one expression of `x`."""
    if "return" not in body and "\n" not in body:
        body = f"(x,) = args\nreturn {body}"
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return kernel_of(folder, f"def forward(args, *, axis):\n{indented}")


def results(
    folder: Path, body: str, inputs: Sequence[np.ndarray], axis: int = -1
) -> tuple[BuiltKernel, list[np.ndarray], list[np.ndarray]]:
    """The kernel, what it computes, and what NumPy does."""
    function = kernel(folder, body)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean of nothing
        given = function.function(tuple(inputs), axis=axis)
    outputs = [np.asarray(each) for each in (given if isinstance(given, tuple) else (given,))]
    made = [np.full_like(each, 7) for each in outputs]
    built = build(function, inputs, made, {"axis": axis})
    assert run(built, inputs, made, {"axis": axis}) is None
    return built, made, [np.asarray(each) for each in outputs]


def check(folder: Path, body: str, inputs: Sequence[np.ndarray], axis: int = -1) -> BuiltKernel:
    """Check that a kernel is fused, and that its values are right."""
    built, made, wanted = results(folder, body, inputs, axis)
    assert built.facts.form == "fused", built.facts.reason
    for ours, right in zip(made, wanted):
        exact = right.dtype.kind != "f"
        digits = {2: 2e-3, 4: 2e-5, 8: 1e-12}.get(right.dtype.itemsize, 0)
        np.testing.assert_allclose(ours, right, rtol=0 if exact else digits, atol=0 if exact else digits)
    return built


def numbers(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("shape", [(), (7,), (3, 40), (2, 3, 5), (2, 1, 3, 70), (2, 2, 2, 2, 5)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std"])
def test_reductions_of_everything(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    body = f"(x,) = args\nreturn x + x.{name}(), np.{name}(x + x, keepdims=True)"
    check(tmp_path, body, [numbers(*shape)])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 1), (0, 2), (-1, 1), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 4, 5), (33, 2, 70), (2, 65, 129), (1, 3, 1)])
def test_reductions_along_axes(tmp_path: Path, axis: object, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    body = f"(x,) = args\nreturn x.sum(axis={axis}), np.max(x, axis={axis}, keepdims=True), x.std(axis={axis}, ddof=1)"
    if x.size > np.max(x, axis=axis).size:  # type: ignore[call-overload]
        check(tmp_path, body, [x])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("body", [SOFTMAX, LOG_SOFTMAX])
@pytest.mark.parametrize("shape", [(4, 5), (300, 17), (3, 5000), (6, 40, 33), (2, 3, 4, 5)])
def test_softmax(tmp_path: Path, body: str, shape: tuple[int, ...], axis: int) -> None:
    built = check(tmp_path, body, [numbers(*shape)], axis)
    assert built.facts.in_pieces


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(6,), (4, 5), (200, 96), (5, 3, 130)])
def test_layer_norm(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x, gamma, beta = numbers(*shape), numbers(*shape[-1:]), numbers(*shape[-1:])
    check(tmp_path / "forward", LAYER_NORM, [x, gamma, beta])
    check(tmp_path / "backward", LAYER_NORM_GRADIENT, [x, gamma, numbers(*shape)])


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (5, 40, 9, 9), (1, 3, 1, 1)])
def test_normalisation_of_groups(tmp_path: Path, shape: tuple[int, ...]) -> None:
    body = """
x, gamma = args
n, c, h, w = x.shape
groups = x.reshape(n, c // 1, -1)
z = groups - groups.mean(axis=2, keepdims=True)
y = z / np.sqrt((z * z).mean(axis=2, keepdims=True) + 1e-5) * gamma.reshape(c, 1)
return y.reshape(x.shape), y.reshape((n * c, h * w)), x.reshape(-1, w).sum(axis=1), x.reshape(x.size)
"""
    check(tmp_path, body, [numbers(*shape), numbers(shape[1])])


@pytest.mark.parametrize("shape", [(2, 4, 15), (3, 2, 1)])
def test_reshaped_arrays_have_axes_of_the_same_length(tmp_path: Path, shape: tuple[int, ...]) -> None:
    body = """
x, dy, gamma = args
size = x.shape[1] // 2
g = x.reshape(x.shape[0], 2, size, -1)
d = dy.reshape(g.shape) * gamma.reshape(2, size, 1)
return (g * d).reshape(x.shape), (g + d).sum(axis=(0, 3)).reshape(-1), d.sum(axis=(0, 1, 3)).reshape(1, size)
"""
    check(tmp_path, body, [numbers(*shape), numbers(*shape), numbers(shape[1])])


@pytest.mark.parametrize(
    "body",
    [
        "x.reshape(2, 2) + x.reshape(2, 2).sum(axis=0)",
        "x.reshape(x.shape[1], x.shape[0]).sum(axis=0) + x.sum(axis=1)",
        "x.reshape(1, 1, -1).sum(axis=(0, 1)), (x + 1).reshape(1, 4, 1)",
        "x.reshape(x.shape[0], 1, -1, 1)[:, 0].sum(axis=1)",
    ],
)
def test_reshapes_with_axes_of_equal_length_and_of_one(tmp_path: Path, body: str) -> None:
    check(tmp_path, body, [numbers(2, 2)])


@pytest.mark.parametrize("shape", [(1, 1), (4, 5), (40, 700)])
def test_losses_of_labels(tmp_path: Path, shape: tuple[int, ...]) -> None:
    body = """
x, labels = args
z = x - x.max(axis=1, keepdims=True)
logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
chosen = labels[:, None] == np.arange(x.shape[1])
return -np.where(chosen, logs, 0).sum(axis=1), np.exp(logs) - chosen
"""
    check(tmp_path, body, [numbers(*shape), RNG.integers(0, shape[1], shape[0])])


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (5, 40, 9, 9), (1, 3, 1, 1)])
def test_normalisation_of_channels(tmp_path: Path, shape: tuple[int, ...]) -> None:
    check(tmp_path, CHANNELS, [numbers(*shape), numbers(shape[1]), numbers(shape[1])])


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_])
def test_dtypes(tmp_path: Path, dtype: type) -> None:
    x = (RNG.standard_normal((5, 37)) * 3).astype(dtype)
    check(tmp_path / "sum", "x.sum(axis=0), x.mean(axis=1), x.max(axis=1), x.min(), x.any(axis=0)", [x])
    check(tmp_path / "same", "x > x.mean(axis=1, keepdims=True)", [x])
    if dtype != np.bool_:
        check(tmp_path / "minus", "x - x.max(axis=0), x.prod(axis=1, dtype=np.float64) * 0", [x])


@pytest.mark.parametrize(
    "body",
    [
        "x / x.shape[0] + x.size - len(x) * x.ndim",
        "x.sum(axis=axis) * 2 + x.max(axis=axis)",
        "np.where(x > x.mean(), x, 0).sum(axis=1)",
        "x.sum().reshape(1)",
        "np.expand_dims(x.sum(axis=1), 0)",
        "np.squeeze(x.sum(axis=1, keepdims=True), axis=1)[None, :, None]",
        "x.sum(axis=1, keepdims=True) + x.sum(axis=0, keepdims=True)",
        "(x - x.mean(axis=0)) / x.std(axis=0) * np.exp(x.sum(axis=1) / x.size)[:, None]",
        "x[..., None, :].max(axis=0), x[:, np.newaxis].sum(axis=(0, 2))",
        "(x.astype(np.float64) ** 2).sum(axis=0).astype(x.dtype)",
        "x if axis < 0 else x.sum(axis=axis, keepdims=True) * x",
        "(x > 0).sum(axis=1), (x > 5).any(), np.all(x == x, axis=0)",
        "np.tanh(x).sum(axis=0) + np.tanh(x).sum(axis=1).sum()",
        "x, x.sum(axis=0), np.exp(x), np.exp(x)",
        "np.zeros_like(x) + x.sum(axis=0), np.full_like(x, 3).sum(axis=1)",
    ],
)
def test_expressions(tmp_path: Path, body: str) -> None:
    for shape in [(4, 6), (70, 33), (3, 1000)]:
        check(tmp_path / str(shape), body, [numbers(*shape)])


def test_statements(tmp_path: Path) -> None:
    body = """
x, mode = args[0], axis
if mode < 0:
    e = np.exp(x)
    e /= e.sum(axis=mode, keepdims=True)
    return e
return x
"""
    check(tmp_path, body, [numbers(5, 9)])
    check(tmp_path / "choice", "x.sum(axis=1) * (2 if axis > 0 else 3)", [numbers(5, 9)])


@pytest.mark.parametrize(
    "view", ["e[None]", "e.reshape(-1)", "e[:, None, :]", "np.expand_dims(e, 0)", "e.squeeze(axis=())"]
)
def test_changes_in_place_of_what_has_another_name_are_left_to_other_forms(tmp_path: Path, view: str) -> None:
    for changed in ("e", "v"):
        function = kernel(tmp_path / changed, f"x = args[0]\ne = x + x.sum()\nv = {view}\n{changed} += 1\nreturn e")
        with pytest.raises(NotExpressible, match="a change in place of what has another name"):
            recognise(function, signature_of([numbers(4, 5)], [numbers(4, 5)], {"axis": 0}))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "shapes",
    [((4, 5), (5,)), ((4, 5), (1, 5)), ((4, 5), (4, 1)), ((1, 5), (4, 1)), ((4, 700), (1, 1)), ((3, 4, 5), (4, 1))],
)
def test_broadcasting(tmp_path: Path, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (numbers(*shape) for shape in shapes)
    check(tmp_path / "sum", "a, b = args\nreturn (a * b).sum(axis=-1), (a - b).max(axis=0)", [a, b])
    check(tmp_path / "map", "a, b = args\nreturn a * b - (a + b).mean(axis=-1, keepdims=True)", [a, b])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "shapes", [((4, 5), (1, 5)), ((4, 5), (4, 1)), ((300, 5), (1, 1)), ((3, 700), (1, 700)), ((1, 1), (6, 50))]
)
@pytest.mark.parametrize("axis", ["0", "1", "(0, 1)"])
def test_sums_of_what_is_broadcast_elsewhere(tmp_path: Path, shapes: tuple[tuple[int, ...], ...], axis: str) -> None:
    a, b = (numbers(*shape) for shape in shapes)
    body = f"a, b = args\nreturn (a * b).sum(axis={axis}) + b.sum(axis={axis}) * b.mean(axis={axis}), np.exp(a + b)"
    check(tmp_path, body, [a, b])
    check(tmp_path / "prod", f"a, b = args\nreturn a + b - np.exp(b).prod(axis={axis}, keepdims=True), b * 2", [a, b])


def test_outputs_of_other_shapes_are_refused(tmp_path: Path) -> None:
    function = kernel(tmp_path, "x.sum(axis=0)")
    x, y = numbers(4, 5), np.zeros(4, np.float32)
    built = build(function, [x], [y], {"axis": 0})
    assert built.facts.form == "fused"
    assert "returned shape (5,) for output 'y', but the definition infers (4,)" in str(
        run(built, [x], [y], {"axis": 0})
    )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)])
def test_empty_arrays(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    check(tmp_path, "x.sum(axis=0), x.sum(axis=-1, keepdims=True), x.mean(), x * x.prod(), (x > 0).all()", [x])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        "x[0] + x[-1]",
        "x[:, 1:] - x[:, :-1]",
        "x[..., 2] * x[:, 0] - x[1, 1]",
        "x[::2, 1:].sum(axis=1), x[-2:, -3:].max(axis=0), x[:100, 100:].sum(axis=0)",
        "x[:, None, 2] - x[None, :, 0]",
        "x[: x.shape[0] // 2].mean(axis=0) + x[x.shape[0] // 2].sum()",
        "x[1:, ::3] * x[:-1, ::3] - x[1:, 0:1] + x[0, 0]",
    ],
)
def test_parts(tmp_path: Path, body: str) -> None:
    for shape in [(4, 6), (70, 33), (3, 1000)]:
        check(tmp_path / str(shape), body, [numbers(*shape)])


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_parts_of_every_few_elements(tmp_path: Path, step: int, dtype: type) -> None:
    # Rows of these parts follow each other where the step divides their length; the last has the most bytes between.
    for shape in ((3, 4 * step), (3, 4 * step + 1), (1, step), (2, 1200 * step), (700, step), (300, 20 * step)):
        x = np.abs(numbers(*shape, dtype=dtype))
        check(tmp_path, f"x[:, ::{step}] + x[:, :1]", [x])
        check(tmp_path, f"x[:, 0] + x[:, {step - 1}]", [x])
    check(tmp_path, f"x[:, ::{step}, 1:] + x[:, 1::{step}, :-1]", [np.abs(numbers(3, 4 * step, 5, dtype=dtype))])


@pytest.mark.parametrize("n", [1, 127, 129, 5000])
def test_reductions_of_single_elements(tmp_path: Path, n: int) -> None:
    for x in (numbers(1, n), numbers(n, 1)):
        check(tmp_path, "x.sum(axis=0), x.sum(axis=1), x.max(axis=0), x.max(axis=1), x.mean(axis=0), x.std(1)", [x])


def test_a_mean_of_float16_is_as_exact_as_what_it_is_of(tmp_path: Path) -> None:
    x = numbers(9, 1, dtype=np.float16)
    check(tmp_path, "(x * x - (x * x).mean(axis=-1, keepdims=True)) * np.float16(300)", [x])


def test_an_index_past_the_end_is_an_error(tmp_path: Path) -> None:
    function = kernel(tmp_path, "x[3] * x[-4]")
    x, y = numbers(6, 2), np.zeros(2, np.float32)
    built = build(function, [x], [y], {"axis": 0})
    assert (built.facts.form, run(built, [x], [y], {"axis": 0})) == ("fused", None)
    assert "index 3 is out of bounds" in str(run(built, [x[:3].copy()], [y], {"axis": 0}))


def test_a_reshape_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    function = kernel(tmp_path, "x.reshape(-1, 4).sum(axis=0)")
    x, y = numbers(6, 2), np.zeros(4, np.float32)
    built = build(function, [x], [y], {"axis": 0})
    assert (built.facts.form, run(built, [x], [y], {"axis": 0})) == ("fused", None)
    message = run(built, [x[:5].copy()], [y], {"axis": 0})
    assert "cannot reshape array of size 10 into shape (4)" in str(message)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(5, 1, 7), (9, 6, 7), (300, 4, 9), (3, 50, 2)])
def test_reductions_along_different_axes_in_one_pass(tmp_path: Path, shape: tuple[int, ...]) -> None:
    body = "(x,) = args\nreturn x.sum(axis=0), x.sum(axis=1), x.sum(axis=(0, 1)), x.min(axis=(0, 2)), x.sum(axis=1) * 2"
    check(tmp_path, body, [numbers(*shape)])
    check(tmp_path / "one", "x.max(axis=1) * (x * x).sum()", [numbers(*shape)])


def test_what_is_broadcast_to_nothing(tmp_path: Path) -> None:
    a, b = numbers(0, 5), numbers(1, 5)
    check(tmp_path / "map", "a, b = args\nreturn a * b, (a + b).sum(axis=1), (a - b).sum(axis=0)", [a, b])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        "a, b = args\nreturn (a * b).sum(axis=0) + b.max(axis=0)",
        "a, b = args\nreturn a * b, b * 2, b.sum(axis=0), (a + b).prod(axis=0), a.sum(axis=0), b.mean(axis=1)",
        "a, b = args\ne = np.exp(b)\nreturn e * a, e.sum(axis=1), e.max(axis=0), (a > b).any(axis=0)",
        "a, b = args\nreturn b[:, 1:] - b[:, :-1], (a[:, 1:] + b[:, 1:]).sum(axis=0), a.reshape(-1), b.reshape(-1) * 3",
    ],
)
@pytest.mark.parametrize("columns", [1, 5, 700])
def test_axes_of_lengths_none_and_one(tmp_path: Path, body: str, columns: int) -> None:
    check(tmp_path, body, [numbers(0, columns), numbers(1, columns)])
    check(tmp_path, body, [numbers(3, columns), numbers(1, columns)])


def test_a_maximum_of_nothing_that_is_broadcast_elsewhere_is_an_error(tmp_path: Path) -> None:
    a, b, made = numbers(0, 5), numbers(1, 5), np.zeros(5, np.float32)
    function = kernel(tmp_path, "a, b = args\nreturn (a * b).max(axis=0) + b.max(axis=0)")
    built = build(function, [a, b], [made], {"axis": 0})
    message = run(built, [a, b], [made], {"axis": 0})
    assert "zero-size array to reduction operation maximum which has no identity" in str(message)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(70, 1), (5, 1, 1), (3, 4, 1), (1, 1), (2, 300, 1, 1)])
def test_last_axes_of_one_element(tmp_path: Path, shape: tuple[int, ...]) -> None:
    for name, axis in [("last", -1), ("two", (-2, -1))]:
        body = f"""
(x,) = args
m = x.mean(axis={axis}, keepdims=True)
return x.sum(axis={axis}), np.exp(x - m), x.max(axis={axis}) * 2, x.sum(axis=0), x.var()
"""
        check(tmp_path / name, body, [numbers(*shape)])


def test_shapes_and_numbers_of_the_last_call_do_not_matter(tmp_path: Path) -> None:
    body = "(x,) = args\n    return (x - x.mean(axis=1, keepdims=True)) * scale + shift"
    function = kernel_of(tmp_path / "numbers", f"def forward(args, *, scale, shift):\n    {body}")
    x, y = numbers(4, 6), np.zeros((4, 6), np.float32)
    built = build(function, [x], [y], {"scale": 2.0, "shift": 1})
    assert built.facts.form == "fused"
    for rows, columns, scale, shift in [
        (4, 6, 2.0, 1),
        (6, 4, 2.0, 1),
        (6, 4, 0.5, 1),
        (6, 4, 0.5, 3),
        (0, 4, 0.5, 3),
    ] * 2:
        x = numbers(rows, columns)
        given = {"scale": scale, "shift": shift}
        made = np.full_like(x, 7)
        assert run(built, [x], [made], given) is None
        np.testing.assert_allclose(made, (x - x.mean(axis=1, keepdims=True)) * scale + shift, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_calls_at_once(tmp_path: Path) -> None:
    """What one call leaves for the next is not shared by two."""
    function = kernel(tmp_path, LAYER_NORM)
    weights = numbers(17), numbers(17)
    x = numbers(9, 17)
    built = build(function, [x, *weights], [x.copy()], {"axis": 0})

    def work(seed: int) -> bool:
        own = np.random.default_rng(seed).standard_normal((3 + seed % 4, 17)).astype(np.float32)
        made = np.zeros_like(own)
        right = np.asarray(function.function((own, *weights), axis=0))
        for _ in range(2000):
            made[:] = 7
            if run(built, [own, *weights], [made], {"axis": 0}) or not np.allclose(made, right, rtol=1e-4, atol=1e-5):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_a_maximum_of_nothing_and_a_number_is_that(tmp_path: Path) -> None:
    for shape in [(3, 0), (0, 3), (2, 3)]:
        x = numbers(*shape)
        check(tmp_path, "x.max(axis=1, initial=-np.inf), x.min(axis=0, initial=0.25), x.max(initial=2)", [x])


def test_a_maximum_of_nothing_is_an_error(tmp_path: Path) -> None:
    function = kernel(tmp_path, "x.max(axis=1)")
    x, y = numbers(3, 2), np.zeros(3, np.float32)
    built = build(function, [x], [y], {"axis": 0})
    assert run(built, [x], [y], {"axis": 0}) is None
    message = run(built, [x[:, :0].copy()], [y], {"axis": 0})
    assert "zero-size array to reduction operation maximum which has no identity" in str(message)


@pytest.mark.parametrize("n", [3, 40, 9000])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, 1e-45])
def test_special_values(tmp_path: Path, special: float, n: int) -> None:
    x = numbers(3, n)
    x[1, n // 2] = special
    x[2] = special
    check(tmp_path, "x.max(axis=1), x.min(axis=1), x.sum(axis=1), x.max(axis=0), x.min(axis=0), x.sum(axis=0)", [x])
    check(tmp_path / "softmax", SOFTMAX, [x])


def test_sums_of_many_are_close(tmp_path: Path) -> None:
    x = RNG.random(3_000_001, np.float32)
    _, (total, mean), _ = results(tmp_path, "(x,) = args\nreturn x.sum(), x.mean()", [x])
    right = x.sum(dtype=np.float64)
    assert abs(total - right) <= 2e-7 * right
    assert abs(mean - right / x.size) <= 2e-7


@pytest.mark.parametrize("shape", [(6, 5), (50, 70), (7, 9000), (3000, 5)])
@pytest.mark.parametrize("body", [SOFTMAX, LAYER_NORM, "x.sum(axis=0) * 2"])
def test_pieces_are_the_same_to_the_last_bit(tmp_path: Path, body: str, shape: tuple[int, ...]) -> None:
    inputs = [numbers(*shape)]
    if body == LAYER_NORM:
        inputs += [numbers(shape[1]), numbers(shape[1])]
    built, (whole,), _ = results(tmp_path, body, inputs)
    assert built.facts.in_pieces
    for at in range(3):
        # Elsewhere in memory, and in pieces of other lengths.
        moved = [np.concatenate([np.zeros(at, a.dtype), a.ravel()])[at:].reshape(a.shape) for a in inputs]
        made = np.full_like(whole, 5)
        n = made.size
        cuts = [0, n // 7, n // 3, n // 3 + at, n]
        for begin, end in itertools.pairwise(cuts):
            assert run(built, moved, [made], {"axis": -1}, (begin, end)) is None
        assert made.tobytes() == whole.tobytes()
        # A call in pieces leaves nothing behind for one as a whole.
        made.fill(5)
        assert run(built, moved, [made], {"axis": -1}) is None
        assert made.tobytes() == whole.tobytes()


def test_operands_are_evaluated_once(tmp_path: Path) -> None:
    # Twice at each level would be more than a million times.
    check(tmp_path, f"{'(' * 20}x{',)' * 20}{'[0]' * 20} - x.max()", [numbers(4, 5)])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x + x.sum(axis=1)", "two axes of one array are broadcast together"),
        ("np.cumsum(x, axis=0)", "a call of np.cumsum"),
        ("np.zeros(x.shape, np.complex64).real + x", "a call of np.zeros with these arguments"),
    ],
)
def test_other_kernels_are_left_to_other_forms(tmp_path: Path, body: str, reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PykernelsWarning)
        built, (made,), (wanted,) = results(tmp_path, body, [numbers(4, 4)])
    np.testing.assert_allclose(made, wanted, rtol=1e-5)
    assert built.facts.form != "fused"
    assert reason in built.facts.reason


def test_neither_numba_nor_an_array_is_needed(tmp_path: Path) -> None:
    built, _, _ = results(tmp_path, SOFTMAX, [numbers(2, 3)])
    assert built.facts.stages == 3
    assert built.facts.vectorised
    assert dict(built.signature.constants) == {"axis": -1}
