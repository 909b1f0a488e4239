"""Find the owner of a module, file or object: the user, Python, a dependency or a framework."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykernels.base.frameworks import FRAMEWORKS

_STDLIB = Path(os.__file__).resolve().parent
_DEPENDENCIES = ("numpy", "numba", "llvmlite", "scipy", "pykernels")
_FRAMEWORKS = [package for package in FRAMEWORKS if package not in _DEPENDENCIES]


def is_users(namespace: Mapping[str, Any]) -> bool:
    """Whether a module, given as its ``vars``, is the user's.

    The standard library, dependencies and frameworks are not the user's. Cache keys have the versions of dependencies,
    and kernels do not use frameworks.
    """
    file = namespace.get("__file__")
    if not file or not file.endswith(".py"):
        return False
    if is_dependency(namespace["__name__"]) or namespace["__name__"].partition(".")[0] in _FRAMEWORKS:
        return False
    return not is_standard(file)


@functools.lru_cache(maxsize=1024)
def is_standard(file: str) -> bool:
    """Whether a file belongs to Python's standard library."""
    # From Python 3.11 on, some modules lie in the interpreter itself.
    return file.startswith("<frozen ") or (_STDLIB in Path(file).resolve().parents and not is_installed(file))


def is_dependency(module: str) -> bool:
    """Whether a module of that name belongs to pykernels or to one of its dependencies."""
    return module.partition(".")[0] in _DEPENDENCIES


@functools.lru_cache(maxsize=1024)
def is_foreign(file: str) -> bool:
    """Whether a file whose code has run belongs to Python, pykernels, a dependency or a framework."""
    modules = (sys.modules.get(name) for name in (*_DEPENDENCIES, *_FRAMEWORKS))
    folders = (Path(str(module.__file__)).parent for module in modules if module is not None)
    return is_standard(file) or any(Path(file).is_relative_to(folder) for folder in folders)


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return "site-packages" in Path(file).resolve().parts


def framework_of(value: Any) -> str | None:
    """Return the framework that a module, function, class or object belongs to, or None."""
    owner = getattr(value, "__self__", None)
    value = value if owner is None else owner
    if isinstance(value, types.ModuleType):
        module = value.__name__
    elif isinstance(value, types.FunctionType):
        # The __module__ of MXNet's generated functions does not name a module.
        module = value.__globals__.get("__name__", "")
    else:
        module = str(getattr(value, "__module__", None) or type(value).__module__)
    package = module.partition(".")[0]
    return package if package in _FRAMEWORKS else None
