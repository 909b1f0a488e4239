"""Write the files of a new op."""

from __future__ import annotations

from pathlib import Path

from pykernels.base.errors import LoadError
from pykernels.load.folders import CPP_DEF, PY_API, PY_KERNEL
from pykernels.tools.new.api import api_text
from pykernels.tools.new.definition import definition_text
from pykernels.tools.new.kernel import kernel_text
from pykernels.tools.new.sketch import Sketch
from pykernels.tools.new.tests import test_text

__all__ = ["is_package", "op_texts", "write_files", "write_op"]

_PURPOSES = {
    CPP_DEF: "what the op is: inputs, outputs, attributes, shapes, gradient",
    PY_KERNEL: "what it computes, in NumPy code",
    PY_API: "the function that users call",
}
_TEXTS = {CPP_DEF: definition_text, PY_KERNEL: kernel_text, PY_API: api_text}


def write_op(sketch: Sketch, folder: Path) -> dict[Path, str]:
    """Write the three files of a new op, which works as it is, and its tests: beside them, or with those of a package.

    Parameters
    ----------
    sketch : Sketch
    folder : Path
        The folder of op folders to make it in; made if it is not there.

    Returns
    -------
    dict of Path to str
        The files, each with what it is for.

    Raises
    ------
    LoadError
        The op folder or the file of tests is there already, or cannot be written.
    """
    place = folder / sketch.name
    tests, path = folder / f"test_{sketch.name}.py", f'Path(__file__).parent / "{sketch.name}"'
    others = _project(folder) / "tests"
    if is_package(folder) and others.is_dir():
        # Beside the package: whatever lies in it is installed.
        tests, path = others / tests.name, f'Path(__file__).parent.parent / "{folder.resolve().name}" / "{sketch.name}"'
    if place.exists() or tests.exists():
        there = place if place.exists() else tests
        raise LoadError(f"{there} is there already; choose another name, or remove it first")
    texts = op_texts(sketch, folder)
    texts[tests] = (test_text(sketch, path), "its tests, for pytest")
    write_files({file: text for file, (text, _) in texts.items()}, f"the op folder {place}")
    return {file: purpose for file, (_, purpose) in texts.items()}


def is_package(folder: Path) -> bool:
    """Whether a folder of op folders is a package in a project."""
    return (folder / "__init__.py").is_file() and (_project(folder) / "pyproject.toml").is_file()


def _project(folder: Path) -> Path:
    return folder.parent if folder.name else folder.resolve().parent  # Path(".") is its own parent


def op_texts(sketch: Sketch, folder: Path) -> dict[Path, tuple[str, str]]:
    """The three files of an op in a folder of op folders: their texts, and what they are for."""
    place = folder / sketch.name
    return {place / f"{sketch.name}{part}": (make(sketch), _PURPOSES[part]) for part, make in _TEXTS.items()}


def write_files(texts: dict[Path, str], what: str) -> None:
    """Write files and the folders that they need; `LoadError` if `what` cannot be written."""
    try:
        for file, text in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{what} cannot be written: {error.strerror}") from error
