"""Ops that compute something wrong: each check tells it of the op in which it is planted, and not of a right one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from planted import DEFINITION, KERNEL, assert_passes, failure, instead, outcomes, plant

from pykernels.checking.findings import FAILED, PASSED, SKIPPED

VALUES = ("definition", "shapes", "compiled", "gradient")


def test_a_right_op_passes(tmp_path: Path) -> None:
    assert_passes(plant(tmp_path), *VALUES)


@pytest.mark.parametrize(
    ("kernel", "definition", "told"),
    [
        (instead("forward(args, *, scale)", "forward(args, *, size)"), DEFINITION, "takes the attribute 'size', which"),
        (instead("(x,) = args", "x, z = args"), DEFINITION, "takes 2 inputs out of 'args', but op 'planted_forward'"),
        (instead("def backward", "def backwards"), DEFINITION, "there is no function backward(args)"),
        (KERNEL, instead('return ["x"]', "return []", DEFINITION), "planted"),
        (
            instead("return scale * x", "return np.bitwise_or(x, 1)"),
            DEFINITION,
            "the definition accepts float32, but the kernel does not: op 'planted_forward'",
        ),
    ],
)
def test_definition_and_kernel_disagree(kernel: str, definition: str, told: str, tmp_path: Path) -> None:
    found = outcomes(plant(tmp_path, kernel=kernel, definition=definition), *VALUES)
    assert found["definition"].outcome == FAILED
    assert told in found["definition"].message
    assert {found[name].outcome for name in VALUES[1:]} == {SKIPPED}
    assert found["compiled"].message == "definition failed"


def test_a_dtype_that_only_the_definition_takes(tmp_path: Path) -> None:
    kernel = instead("return scale * x", "return np.linalg.norm(x) * x")
    folder = plant(tmp_path, kernel=kernel, definition=instead('.kind != "f"', '.kind not in "fb"', DEFINITION))
    assert "the definition accepts bool, but the kernel does not" in failure(folder, "definition").message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return (scale * x)[..., None]", "returned shape"),
        ("return (scale * x).sum()", "returned"),
        ("return (scale * x).astype(np.float64)", "returned dtype float64 for output 'y', but the definition infers"),
    ],
)
def test_shapes_and_dtypes_that_are_not_inferred(line: str, told: str, tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=instead("return scale * x", line)), "shapes")
    assert told in result.message


def test_elements_that_are_not_written(tmp_path: Path) -> None:
    kernel = instead("forward(args, *, scale)", "forward(args, outs, *, scale)")
    kernel = instead("return scale * x", "outs[0].reshape(-1)[1:] = scale * x.reshape(-1)[1:]", kernel)
    result = failure(plant(tmp_path, kernel=kernel), "shapes")
    assert "the kernel does not write y[0] (1 of 1 elements)" in result.message


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


def test_a_compiled_kernel_that_computes_something_else(tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=DIFFERS), "compiled")
    assert re.fullmatch(
        r"planted_forward: the compiled y(\[0\])? is 1.0 instead of 2.0, which plain NumPy computes", result.message
    )
    assert re.fullmatch(r"x = np.array\(\[?1.0\]?, np.float\d\d\)", result.inputs)


def test_the_wrong_gradient(tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=instead("return scale * dy", "return dy"))
    found = outcomes(folder, *VALUES)
    assert [found[name].outcome for name in VALUES] == [PASSED, PASSED, PASSED, FAILED]
    assert "the gradient of x" in found["gradient"].message
    assert "but finite differences give" in found["gradient"].message


def test_a_gradient_that_is_wrong_in_one_dtype(tmp_path: Path) -> None:
    kernel = instead("return scale * dy", "return scale * dy if dy.dtype.itemsize > 2 else dy")
    result = failure(plant(tmp_path, kernel=kernel), "gradient")
    assert "in float16, the gradient of x" in result.message and "which float64 gives" in result.message


def test_a_kink_is_no_wrong_gradient(tmp_path: Path) -> None:
    kernel = instead("return scale * x", "return scale * np.abs(x)")
    kernel = instead("return scale * dy", "return scale * dy * np.sign(x)", kernel)
    folder = plant(tmp_path, kernel=kernel)
    assert_passes(folder, "gradient")
    calls = [{"x": np.array([0.0, 1e-7, -1e-7, 2.0])}]
    (result,) = outcomes(folder, "gradient", calls=calls).values()
    assert result.outcome == PASSED, result


#: An op that ends a network: its gradient reads none from above.
LAST = instead("super().__init__()", "super().__init__(need_top_grad=False)", DEFINITION)


@pytest.mark.parametrize(
    ("slope", "told"),
    [
        ("scale * np.ones_like(x)", "along x"),
        ("np.abs(scale) * np.ones_like(x)", "along the sum of y, whose gradient it is in other calls"),
        ("3 * np.ones_like(x)", "is not that of the sum of one"),
    ],
)
def test_the_gradient_of_the_end_of_a_network(slope: str, told: str, tmp_path: Path) -> None:
    kernel = instead("dy, x, y = args\n        return scale * dy", f"x, y = args\n        return {slope}")
    (result,) = outcomes(plant(tmp_path, kernel=kernel, definition=LAST), "gradient").values()
    assert result.outcome == (FAILED if "in other calls" in told else PASSED), result
    assert result.message.endswith(told), result


def test_a_gradient_that_is_wrong_for_some_attributes(tmp_path: Path) -> None:
    result = failure(plant(tmp_path, kernel=instead("scale * dy", "abs(scale) * dy")), "gradient")
    assert "but finite differences give" in result.message and "scale = -" in result.inputs
