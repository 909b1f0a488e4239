"""Calls that numba does not compile are left to Python, and the rest of their kernel is compiled."""

from __future__ import annotations

import textwrap
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from process import HELPERS, program

from pykernels import PykernelsWarning
from pykernels.base.errors import BuildError
from pykernels.base.settings import require_compiled
from pykernels.kernel import python_calls
from pykernels.kernel.facts import LOOPS, PYTHON, WHOLE_ARRAY, Facts

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
SINGLE = RNG.standard_normal((3, 5)).astype(np.float32)
WHOLE = np.arange(12).reshape(3, 4)
LIBRARIES = "from scipy import ndimage, signal, special\nimport scipy.fft\n"

# Calls of each kind: of arrays that are not contiguous, with keywords and tuples, with several results, of numbers.
CALLS = (
    "np.fft.rfft(f, axis=-1, norm='ortho')",
    "np.fft.fft(s.T[::-1, ::2], len(s)).real * 2",
    "np.linalg.matrix_power(s, -1)",
    "np.linalg.qr(s)[0] @ np.linalg.qr(s)[1]",
    "np.linalg.eigh(s + s.T)[0]",
    "np.linalg.cond(s) * s",
    "np.linalg.lstsq(s[::-1, ::-1].T, s[:, :2], None)[0]",
    "scipy.fft.dct(f)",
    "signal.lfilter(f[0], (1.0, 0.5), f, axis=1)",
    "ndimage.gaussian_filter(f, 1.5)",
    "special.jv(0, s)",
    "np.round(i, -1)",
    "np.bincount(i.ravel() % 5, minlength=f.shape[0])",
    "np.linalg.matrix_rank(s) + s",
)


def built_of(folder: Path, text: str, inputs: list[np.ndarray], outputs: list[np.ndarray], **values: float):
    """The kernel, and the warnings of its build."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        built = build(kernel_of(folder, text), inputs, outputs, values)
    return built, [str(each.message) for each in said if each.category is PykernelsWarning]


def whole(expression: str, head: str = "") -> str:
    return f"{head}\ndef forward(args):\n    (x,) = args\n    return {expression}\n"


@pytest.mark.thorough
def test_values_and_dtypes_are_numpys(tmp_path: Path) -> None:
    text = f"{LIBRARIES}\ndef forward(args):\n    s, f, i = args\n    return ({', '.join(CALLS)})\n"
    inputs = [SQUARE, SINGLE, WHOLE]
    expected = kernel_of(tmp_path, text).function(tuple(inputs))
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    built, said = built_of(tmp_path, text, inputs, outputs)
    assert built.facts.form == WHOLE_ARRAY and len(said) == 1
    assert run(built, inputs, outputs) is None
    for call, output, wanted in zip(CALLS, outputs, expected):
        np.testing.assert_allclose(output, wanted, err_msg=call)
    assert Facts.from_json(built.facts.to_json()) == built.facts


LOOP = """
def shifted(x):
    return np.fft.fft(x).real * 2

def forward(args, outs, *, n):
    (x,), (y,) = args, outs
    z = shifted(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = z[i, j] + n
"""


def test_loops_around_a_call_stay_machine_code(tmp_path: Path) -> None:
    x, y = SINGLE.astype(np.float64), np.zeros(SINGLE.shape)
    built, said = built_of(tmp_path, LOOP, [x], [y], n=3)
    (call,) = built.facts.python_calls
    assert built.facts.form == LOOPS and built.reason is None
    assert (call.name, call.where) == ("np.fft.fft", "op_py_kernel.py:5")
    assert said == [
        f"op 'op_forward': forward is compiled, but for calls of Python, which hold the GIL: {tmp_path}/"
        f"op_py_kernel.py:5: np.fft.fft: {call.reason} [PK900]"
    ]
    assert run(built, [x], [y], {"n": 3}) is None
    np.testing.assert_array_equal(y, np.fft.fft(x).real * 2 + 3)
    again = """
        import sys
        from pathlib import Path
        import numpy as np
        from compiled import build, kernel_of, run
        x, y = np.ones((3, 5)), np.zeros((3, 5))
        built = build(kernel_of(Path.cwd(), Path("kernel.txt").read_text()), [x], [y], dict(n=3))
        assert run(built, [x], [y], dict(n=3)) is None
        assert y[:, 0].tolist() == [13] * 3 and not y[:, 1:].astype(int).max() > 3
        assert built.facts.python_calls and "numba" not in sys.modules
        """
    (tmp_path / "again").mkdir()
    (tmp_path / "again/kernel.txt").write_text(textwrap.dedent(LOOP))
    path = f"import sys\nsys.path[:0] = {[str(HELPERS)]!r}\n"
    program(path + textwrap.dedent(again), cwd=tmp_path / "again")


HELPERS_OF_KERNELS = """
def scaled(x, by=2):
    with np.printoptions(precision=3):
        return np.log(x * x) / by, {"a": x.sum(axis=0)}["a"]

def outer(x):
    a, b = scaled(np.sort(x), by=3)
    return a + b

def forward(args, outs):
    (x,), (y,) = args, outs
    z = outer(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = z[i, j] + 1
"""


def test_a_helper_that_does_not_compile_is_left_to_python(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "copy"):  # the second takes the kernel from the cache
        y = np.zeros((4, 4))
        built, (said,) = built_of(folder, HELPERS_OF_KERNELS, [SQUARE], [y])
        assert built.facts.form == LOOPS
        assert [(call.name, call.where) for call in built.facts.python_calls] == [("scaled", "op_py_kernel.py:9")]
        assert f"{folder}/op_py_kernel.py:9: scaled: `with` is not compiled" in said
        assert run(built, [SQUARE], [y]) is None
        np.testing.assert_array_equal(y, plain(built.function, [SQUARE], [y])[0])


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("x[0] = 1; return x", "f(np.sort(x))"),  # it writes to its argument
        ("y = x.sum()\n    while y < 0: y += 1\n    return x * y", "f(x)"),  # it may not end on samples
        ("return float(x.sum())", "f(x)"),
        ("return x * 2", "f(x[0, 0])"),  # the call takes longer than Python's own
    ],
)
def test_a_helper_that_cannot_be_left_to_python(tmp_path: Path, body: str, call: str) -> None:
    text = f"def f(x):\n    with np.printoptions(): pass\n    {body}\n\n{whole(f'np.sort(x) * {call}')}"
    y = np.zeros((4, 4))
    built, (said,) = built_of(tmp_path, text, [SQUARE], [y])
    assert built.facts.form == PYTHON and "`with` is not compiled" in said
    assert run(built, [SQUARE], [y]) is None
    np.testing.assert_array_equal(y, plain(built.function, [SQUARE], [y])[0])


def test_errors_are_those_of_the_function(tmp_path: Path) -> None:
    built, _ = built_of(tmp_path, whole("np.linalg.matrix_power(x, -1) * 2"), [SQUARE], [SQUARE.copy()])
    ones, y = np.ones((4, 4)), np.zeros((4, 4))
    for _ in range(2):
        text = f"op 'op_forward': {tmp_path}/op_py_kernel.py:6: forward raised LinAlgError: Singular matrix"
        assert run(built, [ones], [y]) == text
        assert run(built, [SQUARE], [y]) is None
    np.testing.assert_allclose(y, np.linalg.matrix_power(SQUARE, -1) * 2)


def test_large_results_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, in_memory = [], python_calls._in_memory

    def watched(value):
        array = in_memory(value)
        assert array is value
        given.append(weakref.ref(array))
        return array

    monkeypatch.setattr(python_calls, "_in_memory", watched)
    body = "y = np.linalg.matrix_power(x, -1)\n    y[0] += 1\n    return y + np.linalg.matrix_power(y, -1)"
    text = f"def forward(args):\n    (x,) = args\n    {body}"
    x, y = RNG.standard_normal((64, 64)), np.zeros((64, 64))
    built, _ = built_of(tmp_path, text, [x], [y])
    for _ in range(3):
        assert run(built, [x], [y]) is None
        np.testing.assert_allclose(y, plain(built.function, [x], [y])[0])
    assert len(given) == 6 and all(each() is None for each in given)


def test_a_result_of_another_type_is_numpys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykernels.kernel.numba.python_calls.sampling._LENGTHS", ([2, 2],))
    built, _ = built_of(tmp_path, whole("np.squeeze(x) * 2"), [SQUARE], [SQUARE.copy()])
    assert run(built, [SQUARE], [SQUARE.copy()]) is None
    text = "forward returned shape (4,) for output 'y', but the definition infers (1, 4)"
    assert text in str(run(built, [SQUARE[:1]], [SQUARE[:1].copy()]))
    built, _ = built_of(tmp_path / "wide", whole("np.squeeze(x) + x"), [SQUARE], [SQUARE.copy()])
    made = np.zeros((1, 4))
    with pytest.warns(PykernelsWarning, match="raised an exception in compiled code .* run as Python, too"):
        assert run(built, [SQUARE[:1]], [made]) is None
    assert made.tolist() == (2 * SQUARE[:1]).tolist()


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            "np.squeeze(x) + np.linalg.matrix_power(x, -1)",
            "the number of axes of its result depends on values or lengths",
        ),
        ("np.emath.log(x)", "the dtype or the number of axes of its result depends on values or lengths"),
        ("np.rollaxis(x * 2, 1)", "returns a view of an array that may change"),
        ("np.linalg.pinv(x, x, x, x, x)", "raises TypeError in Python"),
        ("x * np.random.random()", "returns a float"),
    ],
)
def test_a_call_that_cannot_be_left_to_python(tmp_path: Path, expression: str, reason: str) -> None:
    built, (said,) = built_of(tmp_path, whole(expression), [SQUARE], [SQUARE.copy()])
    assert built.facts.form == PYTHON
    assert f"runs as Python, which is slower and holds the GIL, because numba: {tmp_path}/op_py_kernel.py:6: " in said
    assert reason in said


def test_random_numbers_come_from_the_users_state(tmp_path: Path) -> None:
    np.random.seed(5)
    before, y = np.random.get_state()[1].copy(), np.zeros((4, 4))
    built, (said,) = built_of(tmp_path, whole("x * 0 + np.random.rand(4, x.shape[1])"), [SQUARE], [y])
    assert "draw the numbers in the API file" in said
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    assert run(built, [SQUARE], [y]) is None
    np.random.seed(5)
    np.testing.assert_array_equal(y, np.random.rand(4, 4))


def test_attributes_are_compiled_in_before_a_call_is_left_to_python(tmp_path: Path) -> None:
    text = "def forward(args, *, axis):\n    (x,) = args\n    return np.sort(np.fft.fft(x, axis=axis).real) + x\n"
    kernel = kernel_of(tmp_path, text)
    for axis in (0, -1):
        with pytest.warns(PykernelsWarning):
            built = build(kernel, [SQUARE], [SQUARE.copy()], {"axis": axis})
        assert built.signature.specialized == ("axis",)
        assert f"('value', {axis})" in built.facts.python_calls[0].arguments


def test_what_is_compiled_can_be_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKERNELS_REQUIRE_COMPILED", "0")
    require_compiled()
    for expression in ("np.linalg.matrix_power(x, -1)", "np.squeeze(x)"):
        with pytest.raises(BuildError, match=r"op_py_kernel\.py:6: np.*require_compiled forbids it \[PK500\]"):
            build(kernel_of(tmp_path, whole(expression)), [SQUARE], [SQUARE.copy()])
    built = build(kernel_of(tmp_path, whole("np.sort(x)")), [SQUARE], [SQUARE.copy()])
    y = np.zeros((4, 4))
    assert run(built, [SQUARE], [y]) is None
    np.testing.assert_array_equal(y, plain(built.function, [SQUARE], [y])[0])
    require_compiled(False)
    built_of(tmp_path, whole("np.linalg.matrix_power(x, -1)"), [SQUARE], [SQUARE.copy()])
