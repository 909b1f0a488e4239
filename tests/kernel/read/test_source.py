"""Kernel files: executed apart from each other, described, fingerprinted."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run

from pykernels.base.errors import KernelError, LoadError, PykernelsError
from pykernels.kernel.read.source import KernelSource


def kernel_file(folder: Path, text: str, name: str = "op_py_kernel.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


PLAIN = """
    def forward(args):
        (x,) = args
        return x
"""


def test_functions_are_described(tmp_path: Path) -> None:
    source = KernelSource(
        kernel_file(
            tmp_path,
            """
            import numpy as np

            def forward(args, outs, *, alpha, is_train):
                pass

            def backward(args):
                pass

            def _private(args):
                pass

            def helper(x):
                pass
            """,
        )
    )
    assert list(source.functions) == ["forward", "backward"]
    forward, backward = source.functions.values()
    assert forward.takes_outs and not backward.takes_outs
    assert forward.keywords == ("alpha", "is_train")
    assert forward.where == f"{tmp_path}/op_py_kernel.py:4"


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("forward(x)", r"forward\(x\) is not the signature of a kernel.*forward\(args\)"),
        ("forward(args, outs, more)", "not the signature"),
        ("forward(args, *outs)", "not the signature"),
        ("forward(args, **attributes)", "not the signature"),
        ("forward(args, *, alpha=1.0)", "'alpha' has a default; defaults belong to the definition"),
    ],
)
def test_a_wrong_signature_is_refused(tmp_path: Path, signature: str, told: str) -> None:
    path = kernel_file(tmp_path, f"def {signature}:\n    pass\n")
    with pytest.raises(KernelError, match=rf"op_py_kernel\.py:1: .*{told}"):
        KernelSource(path)


def test_missing_broken_and_raising_files_name_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"nothing\.py cannot be read: No such file"):
        KernelSource(tmp_path / "nothing.py")
    with pytest.raises(LoadError, match=r"op_py_kernel\.py:2: syntax error"):
        KernelSource(kernel_file(tmp_path, "x = 1\ny = (\n"))
    with pytest.raises(LoadError, match=r"op_py_kernel\.py:2: ZeroDivisionError: division by zero"):
        KernelSource(kernel_file(tmp_path, "x = 1\ny = x / 0\n"))
    with pytest.raises(LoadError, match=r"op_py_kernel\.py:1: ModuleNotFoundError: .*no_such_module"):
        KernelSource(kernel_file(tmp_path, "import no_such_module\n"))


def test_helpers_beside_the_file_are_its_own(tmp_path: Path) -> None:
    results = []
    for folder, factor in ((tmp_path / "a", 2), (tmp_path / "b", 3)):
        folder.mkdir()
        kernel_file(folder, f"def scale(x):\n    return {factor} * x\n", "tools.py")
        path = kernel_file(folder, "from tools import scale\ndef forward(args):\n    return scale(args[0])\n")
        results.append(KernelSource(path).functions["forward"].function((10,)))
    assert results == [20, 30]
    assert "tools" not in sys.modules
    assert str(tmp_path / "a") not in sys.path
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["op_py_kernel.py", "tools.py"]


def test_the_fingerprint_follows_helpers_and_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_file(tmp_path, "def scale(x):\n    return 2 * x\n", "tools.py")
    kernel_file(tmp_path, "from deep import scale\n", "middle.py")
    kernel_file(tmp_path, "from tools import scale\n", "deep.py")
    path = kernel_file(
        tmp_path,
        """
        import os
        import middle
        FACTOR = float(os.environ.get("TEST_FACTOR", "1"))
        def forward(args):
            return middle.scale(args[0]) * FACTOR
        """,
    )

    def fingerprint() -> tuple[object, ...]:
        return KernelSource(path).functions["forward"].fingerprint

    first = fingerprint()
    assert first == fingerprint()
    kernel_file(tmp_path, "def scale(x):\n    return 5 * x\n", "tools.py")
    second = fingerprint()
    assert second != first
    monkeypatch.setenv("TEST_FACTOR", "7")
    assert fingerprint() != second


VALUES = {
    "array": ("TEXT = np.float32([float(TEXT)])", "args[0] * TEXT[0]"),
    "tuple": ("TEXT = (np.float32(TEXT), 0.5)", "args[0] * TEXT[0]"),
    "sign": ("FACTOR = 0.0 * (float(TEXT) - 2.5)", "args[0] * FACTOR"),
    "number": ("FACTOR = np.float32(TEXT)", "args[0] * FACTOR"),
    "private": ("__FACTOR = float(TEXT)", "args[0] * __FACTOR"),
    "function": ("scale = {'2': np.sin, '3': np.cos}[TEXT]", "scale(args[0])"),
    "lambda": ("one = lambda x: x * 2\ntwo = lambda x: x * 3\nscale = {'2': one, '3': two}[TEXT]", "scale(args[0])"),
    "default": ("def scale(x, k=float(TEXT)):\n    return x * k", "scale(args[0])"),
    "keyword": ("def scale(x, *, k=float(TEXT)):\n    return x * k", "scale(args[0])"),
    "closure": (
        "def make(k):\n    def scale(x):\n        return x * k\n    return scale\nscale = make(float(TEXT))",
        "scale(args[0])",
    ),
    "dunder": ("__factor__ = float(TEXT)", "args[0] * __factor__"),
    "fraction": ("from fractions import Fraction\nFACTOR = Fraction(int(TEXT), 7)", "args[0] * float(FACTOR)"),
    "decimal": ("from decimal import Decimal\nFACTOR = Decimal(TEXT)", "args[0] * float(FACTOR)"),
    "slice": ("PART = slice(int(TEXT), None)", "args[0] * PART.start"),
    "deep": ("FACTOR = (float(TEXT), 0)\nfor _ in range(40):\n    FACTOR = (FACTOR,)", f"args[0] * FACTOR{'[0]' * 41}"),
    "object": (
        "import threading\nclass Own: pass\nown = Own()\nown.k, own.lock = float(TEXT), threading.Lock()",
        "args[0] * own.k",
    ),
    "module": (
        "import types\nown = types.ModuleType('own')\nown.factor = float(TEXT)",
        "args[0] * own.factor",
    ),
    "member": ("import enum\nK = enum.IntEnum('K', {'a': int(TEXT)})", "args[0] * K.a.value"),
}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("kind", VALUES)
def test_values_that_a_file_computes_are_in_the_fingerprint(tmp_path: Path, kind: str) -> None:
    """A kernel never gets the machine code of another value, wherever that came from."""
    definition, result = VALUES[kind]
    text = f"from pathlib import Path\nTEXT = Path(__file__).with_name('text').read_text()\n{definition}\ndel TEXT\n"
    text = text.replace("del TEXT\n", "" if definition.startswith("TEXT =") else "del TEXT\n")
    x, results, seen = np.float32([0.5, 2]), [], []
    for value in ("2", "3", "2"):
        (tmp_path / "text").write_text(value)
        kernel = kernel_of(tmp_path, f"{text}def forward(args):\n    return {result}\n")
        out = np.empty_like(x)
        assert run(build(kernel, [x], [out]), [x], [out]) is None
        np.testing.assert_array_max_ulp(out, np.asarray(kernel.function((x,)), np.float32), 4)
        results.append(out)
        seen.append(kernel.fingerprint)
    assert results[0].tobytes() != results[1].tobytes()
    assert seen[0] == seen[2] != seen[1]


def test_values_without_end_are_refused_with_their_name(tmp_path: Path) -> None:
    text = "DEEP = ()\nfor _ in range(5000):\n    DEEP = (DEEP,)\ndef forward(args):\n    return args[0]\n"
    with pytest.raises(LoadError, match=r"op_py_kernel.py: DEEP is nested too deeply"):
        kernel_of(tmp_path, text)


def test_copies_of_a_file_have_one_fingerprint(tmp_path: Path) -> None:
    """Compiled kernels that were shipped are found by it, wherever the package was installed."""
    text = """
    import collections, enum
    Pair = collections.namedtuple("Pair", "a b")
    PAIR, NAMES = Pair(1, 2.5), {"x", "y", "z"}
    class Kind(enum.IntEnum):
        ONE = 1
    KIND = Kind.ONE
    scale = lambda x: x * PAIR.a
    def forward(args):
        return scale(args[0])
    """
    first, second = (kernel_of(tmp_path / name, text).fingerprint for name in ("first", "second"))
    assert first == second


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    first = KernelSource(kernel_file(tmp_path / "a", PLAIN)).functions["forward"].function
    second = KernelSource(kernel_file(tmp_path / "b", PLAIN)).functions["forward"].function
    assert first.__module__ != second.__module__


def test_a_helper_that_was_edited_since_it_was_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is compiled would not be what is loaded."""
    monkeypatch.syspath_prepend(str(tmp_path / "tools"))
    (tmp_path / "tools").mkdir()
    helper = kernel_file(tmp_path / "tools", "FACTOR = 2\ndef scale(x):\n    return FACTOR * x\n", "scaling_tools.py")
    path = kernel_file(tmp_path, "import scaling_tools\ndef forward(args):\n    return scaling_tools.scale(args[0])\n")
    try:
        first = KernelSource(path).functions["forward"].fingerprint
        kernel_file(tmp_path / "tools", "# scales\n" + helper.read_text(), "scaling_tools.py")
        with pytest.raises(
            LoadError, match=r"scaling_tools\.py has been edited since it was imported: scale is another"
        ):
            KernelSource(path)
        kernel_file(tmp_path / "tools", "def scale(x):\n    return 5 ** x\n", "scaling_tools.py")
        with pytest.raises(LoadError, match=r"importlib\.reload\(sys\.modules\['scaling_tools'\]\)"):
            KernelSource(path)
        importlib.reload(sys.modules["scaling_tools"])
        assert KernelSource(path).functions["forward"].fingerprint != first
        helper.unlink()
        with pytest.raises(LoadError, match=r"scaling_tools\.py cannot be read: No such file"):
            KernelSource(path)
    finally:
        sys.modules.pop("scaling_tools", None)


def test_helpers_of_all_kinds_are_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "tools"))
    (tmp_path / "tools").mkdir()
    text = """
        import functools

        if True:
            def plain(x):
                def inner(y):
                    assert y is not None
                    return y
                return inner(x)

        made = lambda x: x
        exec("def written(x): return x")

        @functools.wraps(plain)
        def wrapper(x):
            return plain(x)
    """
    kernel_file(tmp_path / "tools", text, "kinds_of_tools.py")
    path = kernel_file(
        tmp_path, "import kinds_of_tools\ndef forward(args):\n    return kinds_of_tools.plain(args[0])\n"
    )
    try:
        assert KernelSource(path).functions["forward"].function((3,)) == 3
        assert KernelSource(path).functions["forward"].helpers
    finally:
        sys.modules.pop("kinds_of_tools", None)


@pytest.mark.parametrize(
    "expression",
    [" + ".join(["x"] * 600), "-" * 2000 + "x", "x.max() + " + " + ".join(["x"] * 600), "x" + ".T" * 600],
    ids=["sum", "negated", "with a reduction", "attributes"],
)
def test_deep_expressions_are_errors_with_the_line(tmp_path: Path, expression: str) -> None:
    path = tmp_path / "deep_py_kernel.py"
    path.write_text(f"def forward(args):\n    (x,) = args\n    return {expression}\n")
    with pytest.raises(
        KernelError, match=r"deep_py_kernel.py:3: forward has .* nested more than 150 deep. Assign parts"
    ):
        KernelSource(path)


def test_python_itself_refuses_what_is_deeper(tmp_path: Path) -> None:
    path = tmp_path / "deep_py_kernel.py"
    path.write_text(f"def forward(args):\n    (x,) = args\n    return {' + '.join(['x'] * 100_000)}\n")
    with pytest.raises(PykernelsError, match="deep_py_kernel.py"):
        KernelSource(path)


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("elementwise", "def forward(args):\n    (x,) = args\n    return {sum}\n"),
        ("fused", "def forward(args):\n    (x,) = args\n    return x - x.max() + {sum}\n"),
        ("whole-array", "def forward(args):\n    (x,) = args\n    return np.sort(x) + {sum}\n"),
        (
            "loops",
            "def forward(args, outs):\n    (x,), (y,) = args, outs\n    for i in range(1):\n        y[:] = {sum}\n",
        ),
    ],
)
def test_what_is_less_deep_is_compiled(tmp_path: Path, form: str, body: str) -> None:
    kernel = kernel_of(tmp_path, body.format(sum=" + ".join(["x"] * 135)))
    inputs, outputs = [np.full(3, 2, np.float32)], [np.empty(3, np.float32)]
    built = build(kernel, inputs, outputs)
    assert built.facts.form == form
    assert run(built, inputs, outputs) is None
    np.testing.assert_array_equal(outputs[0], plain(kernel, inputs, outputs)[0])
