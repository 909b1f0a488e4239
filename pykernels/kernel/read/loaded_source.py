"""Read the source of a module; refuse a file that has been edited since it was imported."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pykernels.base.errors import LoadError
from pykernels.base.python_files import SOURCE


def read_source(namespace: dict[str, Any]) -> bytes:
    """Return the content of a module's file, and store it in the module's namespace.

    Raises
    ------
    LoadError
        The file cannot be read, or its functions are no longer those of the module.
    """
    path = Path(namespace["__file__"])
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    edited = _edited(namespace, source, str(path))
    if edited:
        raise LoadError(
            f"{path} has been edited since it was imported: {edited} is another function now. Restart Python, or "
            f"import it anew: importlib.reload(sys.modules[{namespace['__name__']!r}])"
        )
    namespace[SOURCE] = source
    return source


def _edited(namespace: Mapping[str, Any], source: bytes, path: str) -> str:
    """Return the name of the module's first function that its source lacks, or an empty string."""
    functions = list(_own_functions(namespace, path))
    if not functions:
        return ""
    try:
        module = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return functions[0].__name__
    codes = [code for code in module.co_consts if isinstance(code, types.CodeType)]
    return next((each.__name__ for each in functions if each.__code__ not in codes), "")


def _own_functions(namespace: Mapping[str, Any], path: str) -> Iterator[types.FunctionType]:
    """Yield the functions that the module defines at its top level."""
    for value in namespace.values():
        function = getattr(value, "py_func", value)
        if (
            isinstance(function, types.FunctionType)
            and function.__globals__ is namespace
            and function.__qualname__ == function.__name__ != "<lambda>"
            and function.__code__.co_filename == path
            # pytest rewrites the assertions of test modules.
            and "@pytest_ar" not in function.__code__.co_names
        ):
            yield function
