"""Ops that compute something wrong: each check fails for the op with its error, and passes for a right one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from planted import (
    DEFINITION,
    JOIN,
    JOIN_API,
    JOIN_DEFINITION,
    KERNEL,
    WRITES,
    assert_passes,
    failure,
    instead,
    outcomes,
    plant,
)

from pykernels.testing import opcheck
from pykernels.tools.check import search, shapes
from pykernels.tools.check.findings import FAILED, PASSED, SKIPPED

VALUES = ("definition", "shapes", "compiled", "overflow", "gradient")


def test_a_right_op_passes(tmp_path: Path) -> None:
    assert_passes(plant(tmp_path), *VALUES, is_apart=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "definition", "text"),
    [
        (instead("forward(args, *, scale)", "forward(args, *, size)"), DEFINITION, "takes the attribute 'size', which"),
        (instead("(x,) = args", "x, z = args"), DEFINITION, "takes 2 inputs out of 'args', but op 'planted_forward'"),
        (instead("def backward", "def backwards"), DEFINITION, "the function backward(args) is missing"),
        (KERNEL, instead('return ["x"]', "return []", DEFINITION), "planted"),
        (
            instead("return scale * x", "return np.bitwise_or(x, 1)"),
            DEFINITION,
            "the definition accepts float32, float64, float16, but the kernel does not: op 'planted_forward'",
        ),
    ],
)
def test_definition_and_kernel_disagree(kernel: str, definition: str, text: str, tmp_path: Path) -> None:
    found = outcomes(plant(tmp_path, kernel=kernel, definition=definition), *VALUES, is_apart=True)
    assert found["definition"].outcome == FAILED
    assert text in found["definition"].message
    assert {found[name].outcome for name in VALUES[1:]} == {SKIPPED}
    assert found["compiled"].message == "definition failed"


def test_dtypes_that_only_the_definition_takes_hide_no_other_check(tmp_path: Path) -> None:
    definition = instead('.kind != "f"', '.kind not in "fb"', DEFINITION)
    kernel = instead("return scale * x", "return np.linalg.norm(x) * x")
    found = outcomes(plant(tmp_path, kernel=kernel, definition=definition), "dtypes", *VALUES)
    assert {name for name, result in found.items() if result.outcome == FAILED} == {"dtypes", "gradient"}
    assert found["dtypes"].message.startswith("the definition accepts bool, but the kernel does not: ")
    assert found["dtypes"].inputs.endswith("np.bool_)")
    assert found["compiled"].message.endswith("calls, float32, float64, float16")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("return (scale * x)[..., None]", "returned shape"),
        ("return (scale * x).sum()", "returned"),
        ("return (scale * x).astype(np.int64)", "returned dtype int64 for output 'y', but the definition infers"),
    ],
)
def test_shapes_and_dtypes_that_are_not_inferred(line: str, text: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=instead("return scale * x", line)), "shapes")
    assert text in result.message


#: A shape function that takes the last element away.
SHORTER = instead("in_shape, in_shape", "in_shape, [[n - 1 for n in in_shape[0]]]", DEFINITION)
FLAT = """
    def forward(args, outs, *, scale):
        (x,), (y,) = args, outs
        for i in range(x.size):
            y[i] = scale * x[i]


    def backward(args, *, scale):
        dy, x, y = args
        return scale * dy
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "definition", "text"),
    [
        (
            instead("scale * x", "(scale * x)[..., None]", WRITES),
            DEFINITION,
            r"accepts x float32\[2\] and infers y float32\[2\], but the kernel does not: .*could not broadcast",
        ),
        (FLAT, SHORTER, r"accepts x float32\[1\] and infers y float32\[0\], but the kernel does not: .* out of bounds"),
        (
            instead("return scale * dy", "outs[0][...] = dy[..., None]").replace(
                "backward(args", "backward(args, outs"
            ),
            DEFINITION,
            r"planted_backward: the definition accepts dy float32.* infers dx float32\[2\], but .* not broadcast",
        ),
    ],
    ids=["an axis more", "an element less", "the gradient"],
)
def test_shapes_at_which_numpy_raises(kernel: str, definition: str, text: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=kernel, definition=definition), "shapes")
    assert re.search(text, result.message) and result.inputs, result


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "shape"),
    [("scale * x + 0 * x.max()", "[0]"), ("scale * x * (1 if x.size else _refuse())", "[0]"), ("scale * x[:]", "[]")],
)
def test_a_kernel_that_does_not_take_what_its_definition_does(line: str, shape: str, tmp_path: Path) -> None:
    kernel = KERNEL + "\n    def _refuse():\n        raise ValueError('no numbers')\n"
    result = failure(plant(tmp_path, kernel=instead("scale * x", line, kernel)), "shapes")
    assert f"accepts x float32{shape} and infers y float32{shape}, but the kernel does not: " in result.message


@pytest.mark.thorough
def test_refused_numbers_are_counted(tmp_path: Path) -> None:
    refuse = "if x.size and x.min() < 0:\n            raise ValueError('negative')\n        return scale * x"
    found = outcomes(plant(tmp_path, kernel=instead("return scale * x", refuse)), "shapes", "gradient")
    assert {result.outcome for result in found.values()} == {PASSED}, found
    assert re.search(r"calls; the kernel refused \d+: .*ValueError: negative", found["shapes"].message)


@pytest.mark.thorough
def test_a_function_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, shapes):
        monkeypatch.setattr(module, "LIMIT", 0.5)
    kernel = instead("return scale * x", "while x.size == 0:\n            pass\n        return scale * x")
    result = failure(plant(tmp_path, kernel=kernel), "shapes")
    assert result.message == "planted_forward: the function takes more than 0.5 s for a few numbers"
    assert result.inputs.startswith("x = np.empty((0,), ")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (
            instead("return scale * x", "return np.exp(x) / (1 + np.exp(x))"),
            r"planted_forward: y.* is nan, but 1 if",
        ),
        (instead("return scale * x", "return np.log(1 + np.exp(x))"), r"planted_forward: y.* is inf, but 100 if"),
        (
            instead("return scale * dy", "return dy * np.exp(x) / (1 + np.exp(x))"),
            r"planted_backward: dx.* is nan, but .* computes in float64: .* too large or too small for float32",
        ),
    ],
)
def test_what_overflows_on_the_way(kernel: str, text: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=kernel), "overflow")
    assert re.match(text, result.message) and "x = np.array(" in result.inputs


@pytest.mark.thorough
def test_results_that_are_too_large_are_no_overflow(tmp_path: Path) -> None:
    assert_passes(plant(tmp_path, kernel=instead("return scale * x", "return scale * np.exp(x)")), "overflow")


@pytest.mark.thorough
def test_elements_that_are_not_written(tmp_path: Path) -> None:
    kernel = instead("forward(args, *, scale)", "forward(args, outs, *, scale)")
    kernel = instead("return scale * x", "outs[0].reshape(-1)[1:] = scale * x.reshape(-1)[1:]", kernel)
    result = failure(plant(tmp_path, kernel=kernel), "shapes")
    assert "the kernel does not write y (1 of 1 elements)" in result.message


@pytest.mark.thorough
def test_a_gradient_of_another_shape(tmp_path: Path) -> None:
    definition = """
        import pykernels


        class Planted(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["x"]

            def list_outputs(self):
                return ["y"]

            def infer_shape(self, in_shape):
                return in_shape, [[*in_shape[0], 1]], []
    """
    kernel = """
        def forward(args):
            (x,) = args
            return x.reshape((*x.shape, 1))


        def backward(args):
            dy, x, y = args
            return dy
    """
    found = outcomes(plant(tmp_path, kernel=kernel, definition=definition), "shapes")["shapes"]
    assert found.outcome == FAILED and "backward" in found.message


#: Numbers of 1 and more are doubled by NumPy alone.
DIFFERS = """
    import numpy as np
    from numba import extending


    def double(x):
        return x + x


    @extending.overload(double)
    def compiled_double(x):
        return lambda x: x + x if x < 1 else x


    def forward(args, outs, *, scale):
        (x,), (y,) = args, outs
        flat, results = x.reshape(x.size), y.reshape(x.size)
        for i in range(x.size):
            results[i] = double(flat[i])


    def backward(args, *, scale):
        dy, x, y = args
        return 2 * dy
"""


@pytest.mark.thorough
def test_a_compiled_kernel_that_computes_something_else(tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=DIFFERS), "compiled")
    assert re.fullmatch(
        r"planted_forward: the compiled y(\[0\])? is 1.0 instead of 2.0, which plain NumPy computes", result.message
    )
    assert re.fullmatch(r"x = np.array\(\[?1.0\]?, np.float\d\d\)", result.inputs)


CHAOS = """
import numpy as np


def forward(args, *, scale):
    (x,) = args
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = 0.01 * scale * x[i]
        if i:
            y[i] += np.exp(-6.2 * y[i - 1] * y[i - 1]) - 0.5
    return y


def backward(args, *, scale):
    dy, x, y = args
    return scale * dy
"""


@pytest.mark.thorough
def test_rounding_errors_that_grow_from_turn_to_turn_are_no_difference(tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=CHAOS)
    assert_passes(folder, "compiled")
    # Most of the errors are those of single numbers within the loop.
    x = [0.887, -0.226, -0.518, 0.534, -0.138, 0.501, -0.261, -0.177, 1.039]
    x += [0.634, 0.546, 1.36, 1.072, 1.971, -0.208, 0.501, -0.442, 0.849]
    opcheck(folder, [{"x": np.array(x, np.float32)}], checks=["compiled"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "line"),
    [
        (
            "scale * dy",
            "dy * (np.tanh(np.logaddexp(0, x)) + x * (1 - np.tanh(np.logaddexp(0, x)) ** 2) / (1 + np.exp(-x)))",
        ),
        ("scale * dy", "dy * (x - x.mean())"),
        ("scale * x", "scale * np.prod(x, axis=-1, keepdims=True) * np.ones_like(x)"),
    ],
    ids=["cancels near -1.19", "a sum overflows in some order", "a product underflows in some order"],
)
def test_digits_that_cancel_are_no_difference(old: str, line: str, tmp_path: Path) -> None:
    assert_passes(plant(tmp_path, kernel=instead(old, line)), "compiled")


def test_the_wrong_gradient(tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=instead("return scale * dy", "return dy"))
    found = outcomes(folder, *VALUES)
    assert [found[name].outcome for name in VALUES] == [*[PASSED] * (len(VALUES) - 1), FAILED]
    assert "the gradient of x" in found["gradient"].message
    assert "but finite differences give" in found["gradient"].message


@pytest.mark.thorough
def test_a_gradient_that_is_wrong_in_one_dtype(tmp_path: Path) -> None:
    kernel = instead("return scale * dy", "return scale * dy if dy.dtype.itemsize > 2 else dy")
    result = failure(plant(tmp_path, kernel=kernel), "gradient")
    assert "in float16, the gradient of x" in result.message and "which float64 gives" in result.message


@pytest.mark.thorough
def test_a_kink_is_no_wrong_gradient(tmp_path: Path) -> None:
    kernel = instead("return scale * x", "return scale * np.abs(x)")
    kernel = instead("return scale * dy", "return scale * dy * np.sign(x)", kernel)
    folder = plant(tmp_path, kernel=kernel)
    assert_passes(folder, "gradient")
    calls = [{"x": np.array([0.0, 1e-7, -1e-7, 2.0])}]
    (result,) = outcomes(folder, "gradient", calls=calls).values()
    assert result.outcome == PASSED, result


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "slope"),
    [
        ("np.sign(x)", "0 * dy"),
        ("np.sqrt(np.abs(x))", "dy * np.sign(x) / (2 * np.sqrt(np.abs(x)))"),
        ("np.sin(10 * x)", "10 * dy * np.cos(10 * x)"),
        ("x / np.sqrt(x * x + 1e-5)", "1e-5 * dy / (x * x + 1e-5) ** 1.5"),
    ],
)
def test_jumps_and_steep_slopes_are_no_wrong_gradients(function: str, slope: str, tmp_path: Path) -> None:
    kernel = instead("return scale * dy", f"return scale * {slope}", instead("scale * x", f"scale * {function}"))
    assert_passes(plant(tmp_path, kernel=kernel), "gradient")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "inputs"),
    [
        ("np.where(np.abs(x) > 50, 0, scale * dy)", r"x = np.array\(\[?-?100.0"),
        ("scale * dy * x / x", r"x = np.array\(\[?0.0"),
        ("scale * dy if x.size <= 1000 else dy", r"x = np.array\(\[-?\d"),
    ],
    ids=["of large numbers", "of 0", "of many numbers"],
)
def test_a_gradient_that_is_wrong_now_and_then(line: str, inputs: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=instead("scale * dy", line)), "gradient")
    assert "but finite differences give" in result.message and re.match(inputs, result.inputs), result


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "check", "text"),
    [
        ("scale * dy[: x.size] * (w.size > 0)", "gradient", "the gradient of x[0] is 0, but finite differences"),
        ("scale * dy[: x.size] + 0 * np.mean(w)", "gradient", "the gradient of x[0] is nan, but finite differences"),
        ("scale * dy[: -w.size]", "shapes", "returned shape (0,) for output 'dx', but the definition infers (1,)"),
        (
            "scale * dy[: x.size] + 0 * w.max()",
            "shapes",
            "[0], but the kernel does not: op 'planted_backward'",
        ),
    ],
)
def test_a_gradient_that_is_wrong_where_one_input_is_empty(line: str, check: str, text: str, tmp_path: Path) -> None:
    kernel = instead("return scale * dy[: x.size]", f"return {line}", JOIN)
    result = failure(plant(tmp_path, kernel=kernel, definition=JOIN_DEFINITION, api=JOIN_API), check)
    assert text in result.message and "w = np.empty((0,), " in result.inputs, result


@pytest.mark.thorough
@pytest.mark.parametrize("word", ["sum", "total"])
def test_a_gradient_that_is_wrong_for_a_word(word: str, tmp_path: Path) -> None:
    kernel = KERNEL.replace("*, scale", "*, scale, mode").replace(
        "scale * x", "scale * x * (1 if mode == 'mean' else 3)"
    )
    definition = instead("scale: float = 2.0", "scale: float = 2.0, mode: str = 'mean'", DEFINITION)
    if word == "sum":
        # What the kernel does not name, a definition does that takes nothing else.
        refuse = "if mode not in ('mean', 'sum'):\n                raise ValueError('mean or sum')"
        definition = instead("super().__init__()", f"super().__init__()\n            {refuse}", definition)
    else:
        kernel = kernel.replace("1 if mode == 'mean' else 3", "3 if mode == 'total' else 1")
    result = failure(plant(tmp_path, kernel=kernel, definition=definition), "gradient")
    assert result.inputs.endswith(f"mode = '{word}'") and "but finite differences give" in result.message, result


#: An op that ends a network: its gradient reads none from above.
LAST = instead("super().__init__()", "super().__init__(need_top_grad=False)", DEFINITION)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("slope", "text"),
    [
        ("scale * np.ones_like(x)", "along x"),
        ("np.abs(scale) * np.ones_like(x)", "along the sum of y, whose gradient it is in other calls"),
        ("3 * np.ones_like(x)", "is not that of any output's sum"),
    ],
)
def test_the_gradient_of_the_end_of_a_network(slope: str, text: str, tmp_path: Path) -> None:
    kernel = instead("dy, x, y = args\n        return scale * dy", f"x, y = args\n        return {slope}")
    (result,) = outcomes(plant(tmp_path, kernel=kernel, definition=LAST), "gradient").values()
    assert result.outcome == (FAILED if "in other calls" in text else PASSED), result
    assert result.message.endswith(text), result


@pytest.mark.thorough
def test_a_gradient_that_is_wrong_for_some_attributes(tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=instead("scale * dy", "abs(scale) * dy")), "gradient")
    assert "but finite differences give" in result.message and "scale = -" in result.inputs
