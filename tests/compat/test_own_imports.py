"""Stand-ins for modules, which the modules of one package import and nobody else."""

from __future__ import annotations

import importlib
import math
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pykernels.base import importing
from pykernels.compat import own_imports

Write = Callable[..., Any]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules of a package called `oldish`, and imports it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(own_imports, "_needs", dict(own_imports._needs))
    monkeypatch.setattr(importing, "_callbacks", {**importing._callbacks})
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    (tmp_path / "oldish").mkdir()

    def write_modules(**sources: str) -> Any:
        for name, source in {"__init__": "", **sources}.items():
            (tmp_path / "oldish" / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module("oldish")

    yield write_modules
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "oldish"]:
        del sys.modules[name]


def needs(**more: Any) -> own_imports.Needs:
    """What a package needs that wants ``math.tau`` to be 6, and a package that is gone."""
    old_math, gone = types.ModuleType("math"), types.ModuleType("gone.version")
    vars(old_math).update({**vars(math), "tau": 6})
    vars(gone)["text"] = "1.0"
    return own_imports.Needs(modules={"math": lambda: old_math, "gone.version": lambda: gone}, **more)


def test_every_way_to_import(write: Write) -> None:
    own_imports.provide("oldish", needs())
    package = write(
        __init__="from . import part\nfrom .part import later",
        part="""
import math
import math as m
import os.path
import os.path as path
from math import *
from math import tau as t
from gone.version import text
from math import pi


def later():
    import math

    return math.tau, os.path is path
""",
    )
    part = package.part
    assert (part.math.tau, part.m.tau, part.t, part.tau, part.text) == (6, 6, 6, 6, "1.0")
    assert part.pi == math.pi
    assert package.later() == (6, True)
    assert math.tau > 6.2, "nobody else sees it"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gone.version")


def test_own_functions_and_edits_are_for_one_module(write: Write) -> None:
    own_imports.provide(
        "oldish",
        needs(
            builtins={"oldish.one": {"str": lambda value: f"<{value}>"}},
            edits={"oldish.two": [(".tostring()", ".tobytes()"), ("a_name", "another")]},
        ),
    )
    write(one="text = str(1)", two="import array\ntext = array.array('b', [1]).tostring()\na_name = str(2)")
    one, two = (importlib.import_module(f"oldish.{name}") for name in ("one", "two"))
    assert (one.text, two.text, two.another) == ("<1>", b"\1", "2")


def test_errors_show_the_source(write: Write) -> None:
    own_imports.provide("oldish", needs(edits={"oldish.edited": [("x", "y")]}))
    write(edited="def f():\n    raise ValueError")
    edited = importlib.import_module("oldish.edited")
    with pytest.raises(ValueError) as caught:
        edited.f()
    assert str(caught.traceback[-1].statement).strip() == "raise ValueError"


def test_an_import_that_has_failed_can_be_repeated(write: Write) -> None:
    with pytest.raises(AttributeError, match="old_name"):
        write(__init__="from . import first, second", first="import math", second="import math\nmath.old_name")
    assert "oldish.first" in sys.modules
    old = needs()
    vars(old.modules["math"]())["old_name"] = "here"
    own_imports.provide("oldish", old)
    assert importlib.import_module("oldish").first.math.old_name == "here"


def test_what_is_imported_stays(write: Write) -> None:
    package = write(part="import math")
    part = importlib.import_module("oldish.part")
    own_imports.provide("oldish", needs())
    assert sys.modules["oldish"] is package
    assert importlib.import_module("oldish.part") is part


@pytest.mark.parametrize("is_watched_first", [True, False])
def test_who_watches_the_import_is_told(write: Write, is_watched_first: bool) -> None:
    told = []
    steps: list[Callable[[], object]] = [
        lambda: importing.after_import("oldish", lambda: told.append(sys.modules["oldish"].math.tau)),
        lambda: own_imports.provide("oldish", needs()),
    ]
    # As in a process where neither is in place.
    sys.meta_path[:] = [each for each in sys.meta_path if each not in (importing._watcher, own_imports._finder)]
    for step in steps if is_watched_first else reversed(steps):
        step()
    write(__init__="import math")
    assert told == [6]
