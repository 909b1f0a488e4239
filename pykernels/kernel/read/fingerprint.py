"""Fingerprint a kernel file: the user's files that it reaches, and the values that they hold."""

from __future__ import annotations

import enum
import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base.errors import LoadError
from pykernels.base.python_files import SOURCE
from pykernels.kernel.read.ownership import is_users
from pykernels.kernel.read.plain import content_of

# Names that Python defines in every module, and pykernels in a kernel file.
_MODULES_OWN = {*vars(types.ModuleType("any")), "__annotations__", "__builtins__", "__cached__", "__file__", SOURCE}


def survey(module: types.ModuleType) -> tuple[tuple[str | bytes, ...], tuple[Callable[..., Any], ...]]:
    """Return what the kernels of a module depend on, and the plain functions that they may call.

    Follow every module and function of the user's that the module reaches. Record the content of each file, and the
    values that are compiled in: those at the top level, and those in the defaults and closures of functions.

    Raises
    ------
    LoadError
        A value is nested too deeply to be described.
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
        source = namespace[SOURCE] if file == module.__file__ else _read_source(namespace)
        reached.parts += [Path(file).name, source]
        for name, value in sorted(namespace.items()):
            if name not in _MODULES_OWN:
                try:
                    reached.parts.append(f"{name}={reached.describe(value)}")
                except RecursionError:
                    raise LoadError(f"{file}: {name} is nested too deeply to be compared with other values") from None
                if isinstance(value, types.FunctionType) and is_users(value.__globals__):
                    reached.helpers.append(value)
    return tuple(reached.parts), tuple(reached.helpers)


class _Reached:
    """The dependencies found so far, and the namespaces still to visit."""

    def __init__(self) -> None:
        self.parts: list[str | bytes] = []
        self.helpers: list[Callable[..., Any]] = []
        self.waiting: list[dict[str, Any]] = []
        # The functions already described, and the objects being described now.
        self._functions: set[int] = set()
        self._open: set[int] = set()

    def describe(self, value: Any) -> str:
        """Return a text that differs for different values, and is the same in all processes and NumPy versions."""
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return repr(value)
        kind = _name_of(type(value))
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
            return f"{kind} {value.dtype.str}{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, np.dtype):
            return f"dtype {value.str}"
        if isinstance(value, (types.ModuleType, type, np.ufunc, types.BuiltinFunctionType)):
            return self._named(value)
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType):
            if function is not value and is_users(function.__globals__):
                _check_indices(value)
            return self._function(function)
        if id(value) in self._open:
            return kind
        self._open.add(id(value))
        try:
            return f"{kind} {self._content(value)}"
        finally:
            self._open.discard(id(value))

    def _named(self, value: Any) -> str:
        if isinstance(value, types.ModuleType) and is_users(vars(value)):
            self.waiting.append(vars(value))
            return f"module {Path(str(value.__file__)).stem}"
        if isinstance(value, types.ModuleType) and value.__spec__ is None:  # created at run time
            return f"module {self.describe({name: each for name, each in vars(value).items() if name[:2] != '__'})}"
        members = ""
        if isinstance(value, enum.EnumMeta):
            members = self._content([(name, value[name].value) for name in value.__members__])
        return f"{_name_of(value)}{members}"

    def _function(self, function: types.FunctionType) -> str:
        if not is_users(function.__globals__):
            return f"{function.__module__}.{function.__qualname__}"
        self.waiting.append(function.__globals__)
        code = function.__code__
        where = f"{Path(code.co_filename).name}:{code.co_firstlineno} {function.__qualname__}"
        if id(function) in self._functions:
            return where
        self._functions.add(id(function))
        bound = [function.__defaults__, function.__kwdefaults__, *map(content_of, function.__closure__ or ())]
        return f"{where} {self._content(bound)}" if any(each is not None for each in bound) else where

    def _content(self, value: Any) -> str:
        """Describe the members of a container, the number or text behind a value, or the state of any other object."""
        if isinstance(value, Mapping):
            return f"({', '.join(sorted(self.describe(pair) for pair in value.items()))})"
        if isinstance(value, (tuple, list)):
            return f"({', '.join(map(self.describe, value))})"
        if isinstance(value, (set, frozenset)):
            return f"({', '.join(sorted(map(self.describe, value)))})"
        if isinstance(value, enum.Enum):
            return f"{value.name} {self.describe(value.value)}"
        # A subclass may have a `repr` of its own.
        if isinstance(value, (int, float, complex, str, bytes)):
            base = next(each for each in (int, float, complex, str, bytes) if isinstance(value, each))
            return base.__repr__(value)
        try:
            # As pickle would rebuild it: a function, its arguments and the state.
            return self.describe(value.__reduce_ex__(4)[:3])
        except Exception:  # classes that cannot be pickled raise errors of any kind
            return self.describe(getattr(value, "__dict__", None))


def _check_indices(dispatcher: Any) -> None:
    """Make a user's `numba.njit` function check its indices, since it also runs beside compiled kernels."""
    options = getattr(dispatcher, "targetoptions", {})
    if not options.get("boundscheck"):
        options["boundscheck"] = True
        if getattr(dispatcher, "overloads", None):
            dispatcher.recompile()


def _name_of(value: Any) -> str:
    """Return the module and the qualified name of an object."""
    module = str(getattr(value, "__module__", ""))
    # The module of a kernel file has a different name in each folder.
    own = module.rpartition(".")[2] if module.startswith("pykernels_op_") else module
    return f"{own}.{getattr(value, '__qualname__', value.__name__)}"


def _read_source(namespace: dict[str, Any]) -> bytes:
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
