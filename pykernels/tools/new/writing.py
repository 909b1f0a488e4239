"""Write the files of a new op, or of a new package of ops for installation with pip."""

from __future__ import annotations

import keyword
from pathlib import Path

from pykernels.base.errors import LoadError
from pykernels.base.version import __version__
from pykernels.define.declared import Argument
from pykernels.load.folders import CPP_DEF, PY_API, PY_DEF, PY_KERNEL
from pykernels.tools import stubs
from pykernels.tools.new.api import api_text
from pykernels.tools.new.definition import definition_text
from pykernels.tools.new.python_definition import python_definition_text
from pykernels.tools.new.sketch import Sketch
from pykernels.tools.new.tests import test_text

_WHAT_IT_IS = "what the op is: inputs, outputs, attributes, shapes, gradient"
# The definition in either language, and the other files of an op: their texts and purposes.
_DEFINITIONS = {False: (CPP_DEF, definition_text, _WHAT_IT_IS), True: (PY_DEF, python_definition_text, _WHAT_IT_IS)}
_OTHERS = (
    (PY_KERNEL, lambda op: op.kernel, "what it computes, in NumPy code"),
    (PY_API, api_text, "the function that users call"),
)
_PROJECT = """\
[build-system]
requires = ["setuptools >= 64", "wheel"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "Ops for neural networks, in every framework that pykernels knows"
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["pykernels >= {version}"]

[project.optional-dependencies]
test = ["pykernels[check]", "pytest"]

# pykernels.load_ops() finds the ops in the folder of this package.
[project.entry-points."pykernels.ops"]
{name} = "{name}"

[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
{name} = ["**/*"]
"""
_README = """\
# {name}

Ops for neural networks, written with [pykernels](https://pypi.org/project/pykernels/).

    pip install .                            # ops are compiled on the machine that uses them
    python -m pykernels build --wheel .      # a wheel with compiled ops, whose users need no compiler
    pip install '.[test]'; python -m pytest    # the tests
    python -m pykernels new OP --path {name}   # one more op
    python -m pykernels stubgen {name}         # their types, for editors; a wheel with compiled ops includes them

Each op is a folder of three files in `{name}/`, such as `{name}/{op}/`: its definition, its kernel, and the function
that users call. Its tests are a fourth file, in `tests/`.

In Python:

    import {name}

    {call}
"""
_INIT = '''\
"""Ops for neural networks, which are also registered in every imported framework."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pykernels

if TYPE_CHECKING:
    from {name}.stubs import Ops

_ops: Ops = pykernels.load_ops(Path(__file__).parent)

{op} = _ops["{op}"].api.{op}
'''


def write_op(sketch: Sketch, folder: Path, *, in_python: bool = False) -> dict[Path, str]:
    """Write the three files of a new op, which works as it is, and its tests, beside it or with those of its package.

    `folder`, the folder of op folders, is created if it does not exist; the definition may be `in_python`. Return the
    purpose of each file. This raises `LoadError` if the op folder or the file of tests already exists, or cannot be
    written.
    """
    place = folder / sketch.name
    tests, path = folder / f"test_{sketch.name}.py", f'Path(__file__).parent / "{sketch.name}"'
    others = _project(folder) / "tests"
    if is_package(folder) and others.is_dir():
        # Outside the package, whose files are all installed.
        tests, path = others / tests.name, f'Path(__file__).parent.parent / "{folder.resolve().name}" / "{sketch.name}"'
    if place.exists() or tests.exists():
        existing = place if place.exists() else tests
        raise LoadError(f"{existing} already exists; choose another name, or remove it first")
    texts = _op_texts(sketch, folder, in_python=in_python)
    texts[tests] = (test_text(sketch, path), "its tests, for pytest")
    return _write(texts, f"the op folder {place}")


def write_package(name: str, op: Sketch, folder: Path, *, in_python: bool = False) -> dict[Path, str]:
    """Write a package with one op, which works as it is, into a new folder in `folder`.

    Return the purpose of each file. This raises `LoadError` if the name cannot be that of a package, or the package
    already exists or cannot be written.
    """
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or name == "pykernels":
        raise LoadError(f"{name!r} cannot be the name of a package of ops: use letters, digits and underscores")
    if name == op.name:
        raise LoadError(f"the package and its op cannot both be called {name!r}; choose another name for one of them")
    root = folder / name
    if root.exists():
        raise LoadError(f"{root} already exists; choose another name, or remove it first")
    ops = _op_texts(op, root / name, in_python=in_python)
    stub = stubs.StubOp(op.name, api_text(op), [Argument(each.name) for each in op.inputs], op.attributes)
    values = {"name": name, "op": op.name, "version": __version__, "call": op.call(f"{name}.{op.name}")}
    texts = {
        root / "pyproject.toml": (_PROJECT.format(**values), "what pip needs to know, and where the ops are"),
        root / "README.md": (_README.format(**values), "how to build and use it"),
        root / name / "__init__.py": (_INIT.format(**values), "the functions of the ops"),
        root / name / "py.typed": ("", "marks the package as typed, for type checkers"),
        root / name / stubs.FILE: (stubs.stub_text([stub]), "the types, for editors"),
        **ops,
        root / "tests" / f"test_{op.name}.py": (
            test_text(op, f'Path(__file__).parent.parent / "{name}" / "{op.name}"'),
            "the op's tests, for pytest",
        ),
    }
    return _write(texts, f"the package {root}")


def is_package(folder: Path) -> bool:
    """Return whether a folder of op folders is a package in a project."""
    return (folder / "__init__.py").is_file() and (_project(folder) / "pyproject.toml").is_file()


def _project(folder: Path) -> Path:
    return folder.parent if folder.name else folder.resolve().parent  # Path(".") is its own parent


def _op_texts(sketch: Sketch, folder: Path, *, in_python: bool) -> dict[Path, tuple[str, str]]:
    """Return the texts and purposes of the three files of an op in a folder of op folders."""
    place = folder / sketch.name
    files = (_DEFINITIONS[in_python], *_OTHERS)
    return {place / f"{sketch.name}{part}": (make(sketch), purpose) for part, make, purpose in files}


def _write(texts: dict[Path, tuple[str, str]], what: str) -> dict[Path, str]:
    """Write files and the folders that they need, and return their purposes; `what` is the subject of errors."""
    try:
        for file, (text, _) in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{what} cannot be written: {error.strerror}") from error
    return {file: purpose for file, (_, purpose) in texts.items()}
