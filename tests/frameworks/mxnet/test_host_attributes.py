"""Attributes as the registrar reads them out of the texts that MXNet hands over."""

from __future__ import annotations

import itertools
import locale
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest

GOOD: dict[str, Any] = {
    "int32": 1,
    "int64": 2,
    "bool": True,
    "float": 0.5,
    "double": 0.1,
    "string": "s",
    "shape": (2, 3),
    "dtype": "uint8",
    "list_int32": [1],
    "list_int64": [1],
    "list_float": [0.5],
    "list_dtype": ["float32"],
    "list_shape": [(1, 2)],
    "list_string": ["a"],
}

_fresh = itertools.count(10)


def read(native: Any, **attributes: Any) -> dict[str, Any]:
    """The attributes with which a kernel is asked for."""
    native.resolved.clear()
    # Nothing is asked for twice, so every call has a value that no other has.
    other = "double" if "double" not in attributes else "int64"
    given = {**GOOD, other: next(_fresh), **attributes}
    native.nd("every", mx.nd.zeros(1), **given).wait_to_read()
    assert [op for op, _, _ in native.resolved] == ["every_forward"]
    found: dict[str, Any] = native.resolved[0][2]
    return found


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("int32", "-2147483648", -(2**31)),
        ("int32", " +7 ", 7),
        ("int64", str(2**63 - 1), 2**63 - 1),
        ("bool", "False", False),
        ("bool", "FALSE", False),
        ("bool", "0", False),
        ("float", "1e-3", 1e-3),
        ("float", "3", 3.0),
        ("float", "0.1", 0.1),
        ("float", "0.30000001192092896", 0.3),
        ("float", "16777217", 16777216.0),
        ("float", "3.4028235e38", 3.4028235e38),
        ("float", "-inf", float("-inf")),
        ("double", "1e300", 1e300),
        ("double", "0.30000000000000004", 0.30000000000000004),
        ("string", "", ""),
        ("string", "a, (b) 'c' = ü", "a, (b) 'c' = ü"),
        ("shape", "[2, 3]", (2, 3)),
        ("shape", "(4,)", (4,)),
        ("shape", "4", (4,)),
        ("shape", "2,3", (2, 3)),
        ("shape", "()", ()),
        ("list_int32", "[]", ()),
        ("list_int64", "(-1, 9007199254740993)", (-1, 9007199254740993)),
        ("list_float", "[0.1, 2]", (0.1, 2.0)),
        ("list_dtype", "['float16', 'bool']", (9, 12)),
        ("list_dtype", "[dtype('int8'), <class 'numpy.float64'>]", (4, 3)),
        ("dtype", "7", 7),
        ("list_dtype", "(2, 12)", (2, 12)),
        ("list_shape", "[(1, 2), (), (3,)]", ((1, 2), (), (3,))),
        ("list_string", "['a, b', \"it's\", 'tab\\t']", ("a, b", "it's", "tab\t")),
        ("list_string", "a, b", ("a", "b")),
    ],
)
def test_reads_what_python_writes(native: Any, name: str, text: str, value: Any) -> None:
    assert read(native, **{name: text})[name] == value


@pytest.mark.parametrize("text", ["uint8", "'uint8'", "<class 'numpy.uint8'>", "dtype('uint8')"])
def test_reads_every_spelling_of_a_dtype(native: Any, text: str) -> None:
    result = native.nd("every", mx.nd.zeros(1), **{**GOOD, "dtype": text, "string": text})
    assert result.dtype.__name__ == "uint8"


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("int32", "2147483648", "a 32-bit integer such as 3"),
        ("int32", "1.0", "a 32-bit integer such as 3"),
        ("int32", "", "a 32-bit integer such as 3"),
        ("int32", "7x", "a 32-bit integer such as 3"),
        ("int64", str(2**63), "a 64-bit integer such as 3"),
        ("int64", "True", "a 64-bit integer such as 3"),
        ("bool", "yes", "True or False"),
        ("float", "1e39", "a number in the range of float32 such as 0.1"),
        ("float", "0,1", "a number in the range of float32 such as 0.1"),
        ("float", "None", "a number in the range of float32 such as 0.1"),
        ("double", "1e400", "a number such as 0.1"),
        ("double", "0x10", "a number such as 0.1"),
        ("double", "1 2", "a number such as 0.1"),
        ("shape", "(1, 2", "a tuple of integers such as (2, 3)"),
        ("shape", "(1, 2]", "a tuple of integers such as (2, 3)"),
        ("shape", "(1,, 2)", "a tuple of integers such as (2, 3)"),
        ("shape", "(1.5,)", "a tuple of integers such as (2, 3)"),
        ("shape", "", "a tuple of integers such as (2, 3)"),
        ("dtype", "999", "the name of a dtype such as float32"),
        ("dtype", "float23", "the name of a dtype such as float32"),
        ("list_int32", "[1, 2147483648]", "a list of 32-bit integers such as [1, 2]"),
        ("list_int64", "[1, a]", "a list of 64-bit integers such as [1, 2]"),
        ("list_float", "[1e39]", "a list of numbers in the range of float32 such as [0.1, 0.2]"),
        ("list_dtype", "['float32', 'what']", "a list of names of dtypes such as ['float32', 'int8']"),
        ("list_shape", "[(1, 2), 'a']", "a list of tuples of integers such as [(2, 3), (4,)]"),
        ("list_string", "['a', 'b]", "a list of strings such as ['a', 'b']"),
        ("list_string", "['\\q']", "a list of strings such as ['a', 'b']"),
    ],
)
def test_malformed_text_names_op_attribute_and_what_is_expected(native: Any, name: str, text: str, wanted: str) -> None:
    message = f"op '{native.prefix}_every': attribute '{name}' must be {wanted}, got '{text}'"
    with pytest.raises(mx.MXNetError, match=re.escape(message)):
        native.nd("every", mx.nd.zeros(1), **{**GOOD, name: text})


def test_missing_attribute(native: Any) -> None:
    given = {name: value for name, value in GOOD.items() if name != "shape"}
    with pytest.raises(mx.MXNetError, match=r"_every' needs its attribute 'shape', a tuple of integers"):
        native.nd("every", mx.nd.zeros(1), **given)


def test_unknown_attribute_suggests_the_nearest(native: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"_scale' has no attribute 'aplha'; did you mean 'alpha'\?"):
        native.nd("scale", mx.nd.zeros(1), aplha=1)
    with pytest.raises(mx.MXNetError, match=r"no attribute 'colour'; its attributes are alpha \[PK400\]$"):
        native.nd("scale", mx.nd.zeros(1), colour=1)
    with pytest.raises(mx.MXNetError, match="_pair' has no attribute 'alpha'; it has none at all"):
        native.nd("pair", mx.nd.zeros(1), mx.nd.zeros(1), alpha=1)


def test_the_default_stands_in(native: Any) -> None:
    assert native.nd("scale", mx.nd.array([3.0])).asscalar() == 6.0


@pytest.fixture
def decimal_comma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A locale in which 0.5 is written 0,5."""
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"]
    if shutil.which("localedef") is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("localedef cannot make a locale here")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    assert locale.localeconv()["decimal_point"] == ","
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


@pytest.mark.thorough
@pytest.mark.usefixtures("decimal_comma")
def test_numbers_do_not_depend_on_the_locale(native: Any) -> None:
    assert read(native, float="0.75", list_float="[0.1, 0.2]")["float"] == 0.75
    assert read(native, double="1e-3")["double"] == 0.001
    with pytest.raises(mx.MXNetError, match="got '0,75'"):
        native.nd("every", mx.nd.zeros(1), **{**GOOD, "double": "0,75"})
