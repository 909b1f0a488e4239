"""What a kernel file depends on: the files of the user's that it reaches, and the values that they hold."""

from __future__ import annotations

import enum
import hashlib
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.kernel.loaded_source import SOURCE, read_source
from pykernels.kernel.ownership import is_users

__all__ = ["survey"]

_MAX_DEPTH = 16


def survey(module: types.ModuleType) -> tuple[tuple[str | bytes, ...], tuple[Callable[..., Any], ...]]:
    """What the kernels of a module depend on, and the plain functions that they may call.

    Follows every module and function of the user's that the module reaches; notes each file's content, and the values
    at its top level and in the defaults and closures of functions, which are compiled in.
    """
    reached = _Reached()
    reached.waiting.append(vars(module))
    seen: set[str] = set()
    while reached.waiting:
        namespace = reached.waiting.pop()
        file = namespace["__file__"]
        if file in seen:
            continue
        seen.add(file)
        source = namespace[SOURCE] if file == module.__file__ else read_source(namespace)
        reached.parts += [Path(file).name, source]
        for name, value in sorted(namespace.items()):
            if not (name.startswith("__") and name.endswith("__")):
                reached.parts.append(f"{name}={reached.describe(value)}")
                if isinstance(value, types.FunctionType) and is_users(value.__globals__):
                    reached.helpers.append(value)
    return tuple(reached.parts), tuple(reached.helpers)


class _Reached:
    """What has been found so far, and the namespaces that are still to be looked through."""

    def __init__(self) -> None:
        self.parts: list[str | bytes] = []
        self.helpers: list[Callable[..., Any]] = []
        self.waiting: list[dict[str, Any]] = []
        self._functions: set[int] = set()

    def describe(self, value: Any, depth: int = 0) -> str:
        """A text that is another for another value, and the same in every process and with every version of NumPy."""
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return repr(value)
        kind = _name_of(type(value))
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
            return f"{kind} {value.dtype.str}{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, np.dtype):
            return f"dtype {value.str}"
        if isinstance(value, (types.ModuleType, type, np.ufunc, types.BuiltinFunctionType)):
            return self._named(value, depth)
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType):
            return self._function(function, depth)
        if depth > _MAX_DEPTH:
            return kind
        return f"{kind} {self._content(value, depth + 1)}"

    def _named(self, value: Any, depth: int) -> str:
        if isinstance(value, types.ModuleType) and is_users(vars(value)):
            self.waiting.append(vars(value))
            return f"module {Path(str(value.__file__)).stem}"
        members = ""
        if isinstance(value, enum.EnumMeta):
            members = self._content([(name, value[name].value) for name in value.__members__], depth + 1)
        return f"{_name_of(value)}{members}"

    def _function(self, function: types.FunctionType, depth: int) -> str:
        if not is_users(function.__globals__):
            return f"{function.__module__}.{function.__qualname__}"
        self.waiting.append(function.__globals__)
        code = function.__code__
        where = f"{Path(code.co_filename).name}:{code.co_firstlineno} {function.__qualname__}"
        if id(function) in self._functions or depth > _MAX_DEPTH:
            return where
        self._functions.add(id(function))
        bound = [function.__defaults__, function.__kwdefaults__, *map(_content_of, function.__closure__ or ())]
        return f"{where} {self._content(bound, depth + 1)}" if any(each is not None for each in bound) else where

    def _content(self, value: Any, depth: int) -> str:
        """The members of a container, or the number or text behind a value."""
        if isinstance(value, Mapping):
            return f"({', '.join(sorted(self.describe(pair, depth) for pair in value.items()))})"
        if isinstance(value, (tuple, list)):
            return f"({', '.join(self.describe(each, depth) for each in value)})"
        if isinstance(value, (set, frozenset)):
            return f"({', '.join(sorted(self.describe(each, depth) for each in value))})"
        if isinstance(value, enum.Enum):
            return f"{value.name} {self.describe(value.value, depth)}"
        # A subclass may have a `repr` of its own.
        if isinstance(value, (int, float, complex, str, bytes)):
            base = next(each for each in (int, float, complex, str, bytes) if isinstance(value, each))
            return base.__repr__(value)
        return ""


def _name_of(value: Any) -> str:
    """Where something is defined, and what it is called there."""
    module = str(getattr(value, "__module__", ""))
    # The module of a kernel file has a name of its own in each folder.
    own = module.rpartition(".")[2] if module.startswith("pykernels_op_") else module
    return f"{own}.{getattr(value, '__qualname__', value.__name__)}"


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned yet
        return None
