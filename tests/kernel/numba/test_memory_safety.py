"""Mistakes with indices and shapes raise as in NumPy, and no other memory is read or written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run
from quick import thorough

from pykernels.kernel.facts import PYTHON
from pykernels.kernel.numba import memory_safety
from pykernels.kernel.numba.target import kernel_target
from pykernels.tools.check.bounds import GuardedArray

COUNTERS = (
    "for i in range(8):\n    i = z[i]\n    y[i] = x[i]",
    "for i in range(8):\n    y[(i := i + 100)] = x[i]",
    "for i in range(8):\n    for i in range(1000, 1002):\n        pass\n    y[i] = 1",
    "k = 0\nfor i in range(8):\n    y[k] = x[i]\n    k += z[i]",
    "for i in range(8):\n    if x[i] > 3:\n        i, k = z[0], 2\n    y[i] = 1",
    "for i in range(8):\n    i += 100000\n    y[i] = x[i]",
    "for j in range(len(x), -1, -1):\n    y[j - 8] = x[j * 4611686018427387904]",
    "for i in range(2):\n    y[i * 2048 * 2048 * 2048 * 2048 * 2048 * 32] = 1",
    "for i in range(8):\n    x = x[1:]\n    y[i] = x[i]",
    "__pykernels_copy_1_y = y[:2]\nfor i in range(8):\n    __pykernels_copy_1_y[i] = x[i]",
)
IN_PLACE = (
    "v = x[:3]\ny += v",
    "v = np.ones(3, np.float32)\nv -= x",
    "v = np.ones((2, 3), np.float32)\nv /= x[:7]",
    "y[:, None][2:] *= x[:5, None]",
    "v = np.ones((3, 8), np.float32)\nv[:, 1] += x",
    "v = np.ones((3, 8), np.float32)\nv[0] += np.ones((2, 8), np.float32)",
    "v = np.ones(1, np.float32)\nv += x",
    "np.add(x[:3], x[:5], y)",
    "np.add(x[:3], x[:3], y[:2])",
    "np.divmod(x, x, y, y[:3])",
)
FUNCTIONS = (
    "y[0] = x.flat[100000]",
    "y.flat[100000] = 1",
    "y.flat[-9] = 1",
    "y[:] = np.take_along_axis(x, z, 0)",
    "y[:] = np.take(x, z)",
    "y[:] = x[z]",
    "y[z] = 1",
)


def raised(folder: Path, body: str, x: np.ndarray, z: np.ndarray) -> tuple[str, str]:
    """What compiled code and NumPy raise; neither may touch other memory or change an input."""
    lines = "\n    ".join(["(x, z), (y,) = args, outs", "y[:] = 0", *body.split("\n")])
    kernel = kernel_of(folder, f"def forward(args, outs):\n    {lines}\n")
    built = build(kernel, [x, z], [np.empty_like(x)])
    for at_end in (True, False):
        guarded = [GuardedArray(each, at_end=at_end) for each in (x, z, np.zeros_like(x))]
        *inputs, output = (each.array for each in guarded)
        said = run(built, inputs, [output])
        assert all(each.is_intact() for each in guarded)
        np.testing.assert_array_equal(inputs[0], x)
    try:
        kernel.function((x, z), (np.empty_like(x),))
    except Exception as error:
        return said or "", type(error).__name__
    return said or "", ""


@pytest.mark.parametrize(
    "body", [*COUNTERS[:3], *IN_PLACE[:3], *FUNCTIONS[:4], *thorough(*COUNTERS[3:], *IN_PLACE[3:])]
)
def test_mistakes_raise_as_in_numpy(tmp_path: Path, body: str) -> None:
    x, z = np.arange(8, dtype=np.float32), np.array([100000, 2, 3, 4, 5, 6, 7, 9])
    said, error = raised(tmp_path, body, x, z)
    assert error and f"raised {error}: " in said


@pytest.mark.thorough
@pytest.mark.parametrize("body", FUNCTIONS[4:])
def test_indices_out_of_range_raise(tmp_path: Path, body: str) -> None:
    x, z = np.arange(8, dtype=np.float32), np.array([0, 1, 2, 3, 4, 5, 6, -9])
    said, error = raised(tmp_path, body, x, z)
    assert error and f"raised {error}: " in said


@pytest.mark.parametrize(
    ("limits", "first"),
    [
        ("1, int(z[0])", -(2**63)),
        ("-1, int(z[0]), -1", 2**63 - 1),
        ("int(z[0]), -1", 2**63 - 1),
        ("int(z[0]), 1, -1", -(2**63)),
    ],
)
def test_ranges_that_count_away_from_their_stop_are_empty(tmp_path: Path, limits: str, first: int) -> None:
    body = f"for i in range({limits}):\n    y[i] = x[i]"
    assert raised(tmp_path, body, np.ones(8), np.array([first])) == ("", "")


def test_negative_places_of_flat_count_from_the_end(tmp_path: Path) -> None:
    body = "y.flat[-8] = x.reshape(2, 4).T.flat[-1]"
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n    (x,), (y,) = args, outs\n    y[:] = 0\n    {body}\n")
    x, y = np.arange(1, 9, dtype=np.float32), np.empty(8, np.float32)
    assert run(build(kernel, [x], [y]), [x], [y]) is None
    assert y.tolist() == [8, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize(
    ("call", "reason"), [("np.round(z, -1)", "is not compiled for these"), ("np.unwrap(z)", "is not NumPy's for these")]
)
def test_functions_with_other_values_are_left_to_python(tmp_path: Path, call: str, reason: str) -> None:
    kernel = kernel_of(tmp_path, f"def forward(args, outs):\n    x, z = args\n    np.roll({call}, 1)\n")
    x = np.ones(8)
    facts = build(kernel, [x, x.astype(int)], [x.copy()]).facts
    assert facts.form != PYTHON and reason in facts.python_calls[0].reason


@pytest.mark.parametrize("tool", ["numba.carray(args[0].ctypes, (1000,))", "numba.stencil(lambda a: a[-9])(args[0])"])
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_tools_that_make_arrays_of_any_memory_are_not_compiled(tmp_path: Path, tool: str) -> None:
    kernel = kernel_of(tmp_path, f"import numba\n\n\ndef forward(args):\n    return {tool}[:8]\n")
    x = np.ones(8)
    built = build(kernel, [x], [x.copy()])
    assert built.facts.form == PYTHON and "is not for kernels" in built.facts.reason


def test_helpers_compiled_by_numba_are_checked(tmp_path: Path) -> None:
    text = """
    import numba
    @numba.njit
    def pick(x, i):
        return x[i]
    def forward(args, outs):
        (x, z), (y,) = args, outs
        for i in range(len(x)):
            y[i] = pick(x, z[i])
    """
    x, z, y = np.ones(4), np.array([0, 1, 2, 10**9]), np.empty(4)
    kernel = kernel_of(tmp_path, text)
    assert "raised IndexError" in str(run(build(kernel, [x, z], [y]), [x, z], [y]))


def test_what_numba_writes_itself_is_listed_or_refused() -> None:
    """A function that a new version of numba adds is not compiled until the list says how it keeps to its arrays."""
    context = kernel_target.target_context
    context.refresh()
    refused = []
    for key in context._written:
        try:
            memory_safety.check(key)
        except Exception as error:
            assert "is not known to keep to its arrays" in str(error)
            refused.append(getattr(key, "__name__", key))
    known = {"ClassType", "Polynomial", "datetime_maximum", "datetime_minimum", "ffi.from_buffer", "stencil"}
    assert set(refused) == known | {"get_type_max_value", "get_type_min_value", "internal_prange"}
