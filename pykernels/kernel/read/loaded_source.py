"""Read the source of a module, unless its file has been edited since it was imported."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pykernels.base.errors import LoadError
from pykernels.base.python_files import SOURCE

__all__ = ["read_source"]


def read_source(namespace: dict[str, Any]) -> bytes:
    """The content of a module's file, which is also put into its namespace.

    Raises
    ------
    LoadError
        The file cannot be read, or its functions are not those of the module.
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
    """The first function of a module that its source does not have."""
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
    """The functions that are defined at the top level of a module, as it stands."""
    for value in namespace.values():
        function = getattr(value, "py_func", value)
        if (
            isinstance(function, types.FunctionType)
            and function.__globals__ is namespace
            and function.__qualname__ == function.__name__ != "<lambda>"
            and function.__code__.co_filename == path
            # pytest rewrites what modules of tests assert.
            and "@pytest_ar" not in function.__code__.co_names
        ):
            yield function
