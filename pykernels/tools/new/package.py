"""A new package of ops, to be shipped with pip."""

from __future__ import annotations

import keyword
from pathlib import Path

from pykernels.base.errors import LoadError
from pykernels.base.version import __version__
from pykernels.define.declared import Argument
from pykernels.tools import stubs
from pykernels.tools.new.api import api_text
from pykernels.tools.new.sketch import Sketch
from pykernels.tools.new.tests import test_text
from pykernels.tools.new.writing import op_texts, write_files

__all__ = ["write_package"]

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

# Where pykernels.load_ops() finds the ops: the package whose folders they are.
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

    pip install .                            # as it is: ops are compiled where they are used
    python -m pykernels build --wheel .      # a wheel with compiled ops, whose users need no compiler
    pip install '.[test]'; python -m pytest    # the tests
    python -m pykernels new OP --path {name}   # one more op
    python -m pykernels stubgen {name}         # their types, for editors; a wheel with compiled ops has them of itself

In Python:

    import {name}

    y = {name}.{op}({arguments})
"""
_INIT = '''\
"""Ops for neural networks; they are in every framework that is imported, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pykernels

if TYPE_CHECKING:
    from {name}.stubs import Ops

_ops: Ops = pykernels.load_ops(Path(__file__).parent)

{op} = _ops["{op}"].api.{op}
'''


def write_package(name: str, op: Sketch, folder: Path) -> dict[Path, str]:
    """Write a package of one op, which works as it is.

    Parameters
    ----------
    name : str
        Of the package.
    op : Sketch
    folder : Path
        Where to make its folder.

    Returns
    -------
    dict of Path to str
        The files, each with what it is for.

    Raises
    ------
    LoadError
        The name is not that of a package, or the folder is there already or cannot be written.
    """
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or name == "pykernels":
        raise LoadError(f"{name!r} cannot be the name of a package of ops: use letters, digits and underscores")
    if name == op.name:
        raise LoadError(f"the package and its op cannot both be called {name!r}; choose another name for one of them")
    root = folder / name
    if root.exists():
        raise LoadError(f"{root} is there already; choose another name, or remove it first")
    ops = op_texts(op, root / name)
    values = {"name": name, "op": op.name, "version": __version__}
    values["arguments"] = ", ".join([*op.inputs, *(a.name for a in op.attributes if not a.has_default)])
    texts = {
        root / "pyproject.toml": (_PROJECT.format(**values), "what pip needs to know, and where the ops are"),
        root / "README.md": (_README.format(**values), "how to build and use it"),
        root / name / "__init__.py": (_INIT.format(**values), "the functions of the ops"),
        root / name / "py.typed": ("", "says that there are types"),
        root / name / stubs.FILE: (stubs.stub_text([_stub(op)]), "the types, for editors"),
        **ops,
        root / "tests" / f"test_{op.name}.py": (
            test_text(op, f'Path(__file__).parent.parent / "{name}" / "{op.name}"'),
            "the op's tests, for pytest",
        ),
    }
    write_files({file: text for file, (text, _) in texts.items()}, f"the package {root}")
    return {file: purpose for file, (_, purpose) in texts.items()}


def _stub(op: Sketch) -> stubs.StubOp:
    return stubs.StubOp(
        op.name, api_text(op), [Argument(name) for name in op.inputs], {each.name: each.type for each in op.attributes}
    )
