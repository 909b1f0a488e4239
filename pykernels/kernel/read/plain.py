"""Check that kernels are plain NumPy code when their file is read.

A kernel that calls the framework that runs it may wait for its own thread. A kernel that calls ``os._exit`` ends the
process without an error.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pykernels.base.bytecode import codes, instructions, names
from pykernels.base.errors import KernelError
from pykernels.kernel.read.ownership import framework_of, is_dependency, is_installed, is_users

_UNKNOWN = object()


def check_plain(kernel: types.FunctionType, path: Path) -> None:
    """Check that neither a kernel of the file `path` nor a function that it can reach uses a framework.

    Follow the user's functions and classes. Do not follow those of installed packages, unless the op itself belongs
    to one: a library that supports frameworks does not use them on NumPy arrays.

    Raises
    ------
    KernelError
        A function uses a framework; the message has its file and line. A file may import a framework that its kernels
        do not use.
    """
    waiting = [kernel]
    seen: set[types.FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        for name, value, line in uses(function) if _may_use(function) else ():
            framework = framework_of(value)
            if framework is not None:
                raise KernelError(
                    f"{function.__code__.co_filename}:{line}: {function.__name__} uses {framework} ({name}), but "
                    f"kernels are plain NumPy code: a call of the framework that runs a kernel may wait for the "
                    f"kernel. Compute with NumPy; combine ops in the API file; or register a class that computes with "
                    f"NDArrays (pykernels.register)"
                )
            waiting += [each for each in _functions(value) if _is_followed(each, path.parent)]


def _may_use(function: types.FunctionType) -> bool:
    """Whether the function can use a framework at all: not if it only names dependencies and plain values."""
    named, cells = set(names(function.__code__)), function.__closure__ or ()
    if any(framework_of(types.ModuleType(name)) for name in named):  # names that it may import
        return True
    values = [*(value for name, value in function.__globals__.items() if name in named), *map(content_of, cells)]
    return any(
        framework_of(value) is not None
        or bool(_functions(value))
        or (isinstance(value, types.ModuleType) and not is_dependency(value.__name__))
        for value in values
    )


def uses(function: types.FunctionType) -> Iterator[tuple[str, Any, int]]:
    """Yield what a function reads from outside: the name (``tools.scale``), its current value, and the line."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for code in codes(function.__code__):
        name, value = "", _UNKNOWN
        for instruction, line in instructions(code):
            argument = instruction.argval
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name, value = argument, function.__globals__.get(argument, _UNKNOWN)
            elif instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
                name, value = argument, content_of(cells.get(argument))
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
                name, value = f"{name}.{argument}", vars(value).get(argument, _UNKNOWN)
            elif instruction.opname == "IMPORT_NAME":
                name, value = f"import {argument}", types.ModuleType(argument)
            else:
                name, value = "", _UNKNOWN
            if value is not _UNKNOWN:
                yield name, value, line


def content_of(cell: types.CellType | None) -> Any:
    """Return the value of a variable of an enclosing function, or None if it has none yet."""
    try:
        return None if cell is None else cell.cell_contents
    except ValueError:
        return None


def _functions(value: Any) -> list[types.FunctionType]:
    """Return the Python functions behind a value: itself, what numba wraps, or the methods of a class."""
    values = list(vars(value).values()) if isinstance(value, type) else [value]
    functions = (getattr(each, "py_func", each) for each in values)
    return [each for each in functions if isinstance(each, types.FunctionType)]


def _is_followed(function: types.FunctionType, folder: Path) -> bool:
    if not is_users(function.__globals__):
        return False
    file = function.__globals__["__file__"]
    return not is_installed(file) or folder.resolve() in Path(file).resolve().parents
