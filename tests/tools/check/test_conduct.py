"""Ops that misbehave: each check fails for the op in which its error is planted, and passes for a right one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from planted import DEFINITION, KERNEL, assert_passes, failure, instead, outcomes, plant

from pykernels.base import paths
from pykernels.tools.check import forks
from pykernels.tools.check.findings import PASSED, SKIPPED

CONDUCT = ("determinism", "inputs-unwritten", "bounds", "threads", "fork", "speed")


#: Functions that numba does not compile.
C = """
    import ctypes

    _C = {"memset": ctypes.memset, "string_at": ctypes.string_at}
"""


def with_line(line: str, before: str = "") -> str:
    """The kernel, whose forward function begins with another line; `before` comes before it."""
    kernel = instead("import numpy as np\n", f"import numpy as np\n{before}")
    return instead("(x,) = args\n        return", f"(x,) = args\n        {line}\n        return", kernel)


def test_a_right_op_passes(tmp_path: Path) -> None:
    found = outcomes(plant(tmp_path), *CONDUCT, "second-derivative", is_apart=True)
    assert {found[name].outcome for name in CONDUCT} == {PASSED}, found
    assert found["second-derivative"].outcome == SKIPPED
    assert found["second-derivative"].message == "no gradient has a gradient of its own"


@pytest.mark.thorough
def test_the_wrong_second_derivative(tmp_path: Path) -> None:
    folder = tmp_path / "tensor_negate"
    shutil.copytree(paths.OPS / "tensor_negate", folder)
    assert_passes(folder, "second-derivative")
    path = folder / "tensor_negate_cpp_def.cpp"
    right = 'return ctx->GetOp(grad).output("y", 0); });'
    path.write_text(instead(right, 'return ctx->FwOp().output_grad("dx", 0); });', path.read_text()))
    result = failure(folder, "second-derivative")
    assert result.message.startswith("tensor_negate_backward: the gradient of dy")
    assert "but finite differences give" in result.message
    assert_passes(folder, "gradient")


@pytest.mark.thorough
def test_wrong_tangents(tmp_path: Path) -> None:
    folder = tmp_path / "tensor_negate"
    shutil.copytree(paths.OPS / "tensor_negate", folder)
    assert_passes(folder, "forward-mode")
    path = folder / "tensor_negate_py_kernel.py"
    path.write_text(instead("return -tx", "return tx", path.read_text()))
    result = failure(folder, "forward-mode")
    assert re.match(r"tensor_negate_tangent: ty.* is .*, but finite differences give -", result.message)


ROWS_API = """
import numpy as np


def sample_inputs(elements, dtype):
    return {"x": np.linspace(0.5, 2, 6, dtype=dtype).reshape(2, 3)}
"""
ROWS = """
import numpy as np


def forward(args, *, scale):
    (x,) = args
    t = x.sum(axis=1) + scale
    return x * t[:, None], t


def backward(args, *, scale):
    dy, dt, x, y, t = args
    return dy * t[:, None] + ((dy * x).sum(axis=1) + dt)[:, None]
"""


def test_a_first_result_that_is_empty_beside_others(tmp_path: Path) -> None:
    shapes = "((n, m),) = in_shape\n            return in_shape, [[n, m], [n]], []"
    definition = instead('return ["y"]', 'return ["y", "t"]', DEFINITION)
    definition = instead("return in_shape, in_shape, []", shapes, definition)
    definition = instead("return in_type, in_type, []", "return in_type, in_type * 2, []", definition)
    assert_passes(plant(tmp_path, kernel=ROWS, definition=definition, api=ROWS_API), "determinism")


@pytest.mark.thorough
def test_results_that_change(tmp_path: Path) -> None:
    kernel = with_line("scale = scale + next(_count) % 2", "    import itertools\n\n    _count = itertools.count()\n")
    result = failure(plant(tmp_path, kernel=kernel), "determinism")
    assert "planted_forward: y changes when the kernel is run again on the same inputs" in result.message


@pytest.mark.thorough
def test_results_that_are_kept(tmp_path: Path) -> None:
    kernel = with_line("x = _kept.setdefault((x.shape, x.dtype), x.copy())", "    _kept = {}\n")
    result = failure(plant(tmp_path, kernel=kernel), "determinism")
    assert "planted_forward: y depends on earlier calls: it is " in result.message


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x *= 2", "forward raised ValueError: output array is read-only"),
        ("_C['memset'](x.ctypes.data, 1, x.nbytes)", "planted_forward: the kernel writes to its input x, which"),
    ],
)
def test_inputs_that_are_written(line: str, text: str, tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=with_line(line, C))
    result = failure(folder, "inputs-unwritten")
    assert text in result.message
    assert result.inputs == "x = np.array(1.0, np.float32)"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "x = x + 0 * np.lib.stride_tricks.as_strided(x.reshape(-1), (x.size + 1,), (x.itemsize,))[-1]",
            "planted_forward: the kernel reads or writes past the end of an array, where it crashes",
        ),
        (
            "_C['string_at'](x.ctypes.data - 1, 1)",
            "planted_forward: the kernel reads or writes past the beginning of an array, where it crashes",
        ),
        (
            "_C['memset'](x.ctypes.data - 1, 0, 1) if x.size == 3 else None",
            "planted_forward: the kernel writes before the beginning of x",
        ),
        ("x.reshape(-1)[x.size] if x.size == 3 else None", "forward raised IndexError: index 3 is out of bounds"),
    ],
)
def test_what_lies_beside_arrays(line: str, text: str, tmp_path: Path) -> None:
    folder = plant(tmp_path, kernel=with_line(line, C))
    assert text in failure(folder, "bounds", is_apart=True).message


@pytest.mark.thorough
def test_callers_that_disturb_each_other(tmp_path: Path) -> None:
    kernel = with_line(
        "_scratch['x'] = x; time.sleep(1e-4); x = _scratch['x']", "    import time\n\n    _scratch = {}\n"
    )
    result = failure(plant(tmp_path, kernel=kernel), "threads")
    assert result.message == (
        "planted_forward: the kernel, called by 8 threads at once, computes other numbers for y than for one caller"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "before", "text"),
    [
        (
            "scale = scale if os.getpid() == _pid else 1.0",
            "    import os\n\n    _pid = os.getpid()\n",
            "computes other numbers for y than in the parent",
        ),
        (
            "x = _pool.submit(np.copy, x).result()",
            "    from concurrent.futures import ThreadPoolExecutor\n\n    _pool = ThreadPoolExecutor(1)\n",
            "does not finish in time",
        ),
    ],
)
def test_kernels_that_do_not_survive_a_fork(
    line: str, before: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "in time" in text:
        monkeypatch.setattr(forks, "_LIMIT", 1)
    result = failure(plant(tmp_path, kernel=with_line(line, before)), "fork")
    assert result.message == f"planted_forward: in a forked process, the kernel {text}"


@pytest.mark.thorough
def test_a_kernel_that_is_slower_than_numpy(tmp_path: Path) -> None:
    # NumPy makes a view, and the kernel has all elements to write.
    kernel = instead("scale * x", "x[::-1]")
    result = failure(plant(tmp_path, kernel=kernel), "speed", is_apart=True)
    assert re.search(r"planted_forward: with 1(00)?,000 elements, the kernel takes", result.message)
    assert "times as long as plain NumPy" in result.message


@pytest.mark.thorough
def test_a_kernel_that_is_not_compiled_is_named(tmp_path: Path) -> None:
    kernel = instead("scale * x", "scale * np.asarray(x.tolist(), x.dtype)", KERNEL)
    (result,) = outcomes(plant(tmp_path, kernel=kernel), "speed", is_apart=True).values()
    assert result.outcome == PASSED, result
    assert result.message.endswith(" times as long as NumPy; not compiled: planted_forward")
