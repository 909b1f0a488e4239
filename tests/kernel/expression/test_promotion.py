"""Which expressions count as Python numbers, and that they take the dtype of what they meet (NEP 50)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pykernels.base.python_files import execute
from pykernels.kernel.expression import promotion

Calls = list[tuple[tuple[Any, ...], tuple[bool, ...]]]


def meet(function: Callable[..., Any], mask: int, like: int, *operands: Any) -> Any:
    return function(*operands)


APPLY = {name: lambda function, *operands: function(*operands) for name in (promotion.NUMPY, promotion.PYTHON)}


@pytest.fixture
def meetings(tmp_path: Path) -> Callable[..., list[tuple[bool, ...]]]:
    """Which operands of each rewritten operation are numbers, for a function body."""

    def run(body: str, *arguments: Any, numbers: tuple[str, ...] = ()) -> list[tuple[bool, ...]]:
        path = tmp_path / "op_py_kernel.py"
        path.write_text(
            "import math\nimport numpy as np\ndef forward(x, k):\n" + textwrap.indent(textwrap.dedent(body), "    ")
        )
        function = execute(path).forward
        calls: list[tuple[bool, ...]] = []

        def marker(applied: Callable[..., Any], mask: int, like: int, *operands: Any) -> Any:
            calls.append(tuple(bool(mask >> at & 1) for at in range(len(operands))))
            assert not calls[-1][like]
            return applied(*operands)

        rewritten = promotion.rewrite(function, numbers, marker, names=APPLY)
        expected = function(*arguments)
        np.testing.assert_array_equal(rewritten(*arguments), expected)
        return calls

    return run


X = np.arange(1.0, 4.0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + 1", [(False, True)]),
        ("return 2.5 - x", [(True, False)]),
        ("return 1 / (1 + np.exp(-x))", [(True, False), (True, False)]),
        ("return x > 0", [(False, True)]),
        ("return -1 < x", [(True, False)]),
        ("return x + x", []),
        ("return 1 + 2", []),
        ("return x ** 2", []),
        ("return 2 ** x", [(True, False)]),
        ("return x / len(x)", [(False, True)]),
        ("return x / x.shape[0]", [(False, True)]),
        ("return x * math.pi", [(False, True)]),
        ("return np.maximum(x, 0)", [(False, True)]),
        ("return np.where(x > 2, x, 0.5)", [(False, False, True), (False, True)]),
        ("return np.clip(x, 1, 2)", [(False, True, True)]),
        ("one = 1\nreturn x + one", [(False, True)]),
        ("n, = x.shape\nreturn x / n", [(False, True)]),
        ("half = 1 / 2\nthird = half / 3\nreturn x * third", [(False, True)]),
        ("y = 0.0\ny = x\nreturn y + x", []),
        ("total = 0.0\nfor i in range(3):\n    total = total + x[i]\nreturn x + total", []),
        ("total = 0.0\nfor i in range(3):\n    total += i\nreturn x + total", [(False, True)]),
        ("return x * (1 if k else 2)", [(False, True)]),
        ("return x * True", []),
        ("return x * abs(len(x) - 5)", [(False, True)]),
        ("return x * max(len(x), 2.0)", [(False, True)]),
        ("return x[0] * max(x[0], 2.0)", []),
        ("y = x + x\ny *= 2\ny -= k\nreturn y", [(False, True)]),
    ],
)
def test_numbers_are_found_in_the_text(meetings: Any, body: str, expected: list[tuple[bool, ...]]) -> None:
    assert sorted(meetings(body, X, 3)) == sorted(expected)


def test_parameters_are_numbers_when_told(meetings: Any) -> None:
    assert meetings("return x * k", X, 3) == []
    assert meetings("return x * k", X, 3, numbers=("k",)) == [(False, True)]


def test_keyword_only_parameters_become_positional(tmp_path: Path) -> None:
    path = tmp_path / "op_py_kernel.py"
    path.write_text("def forward(args, *, alpha):\n    return args[0] * alpha\n")
    rewritten = promotion.rewrite(execute(path).forward, ("alpha",), meet, names=APPLY)
    assert rewritten((2,), 3) == 6
    assert rewritten.__code__.co_kwonlyargcount == 0


def test_a_function_without_source_stays_as_it_is() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(args, *, k):\n    return args + k\n", namespace)
    assert promotion.rewrite(namespace["made"], (), None)(1, 2) == 3


def test_lines_stay_the_users(tmp_path: Path) -> None:
    path = tmp_path / "op_py_kernel.py"
    path.write_text("\n\ndef forward(args):\n    y = args\n    return 1 + y.nothing\n")
    rewritten = promotion.rewrite(execute(path).forward, (), meet, names=APPLY)
    with pytest.raises(AttributeError) as raised:
        rewritten(1)
    assert raised.traceback[-1].lineno == 4
