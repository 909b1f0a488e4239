"""The names of users' classes in MXNet, which op folders do not take."""

from __future__ import annotations

import gc
import importlib
import inspect
from collections.abc import Iterator
from types import FunctionType

# Descriptions of classes, by the names that `pykernels.register` has given them.
_given: dict[str, str] = {}


def give(name: str, cls: type, where: str) -> None:
    """Record that a class, registered at `where` (``file:line``), has the name."""
    _given[name] = f"class {cls.__name__}, registered at {where}"


def class_of(name: str) -> str | None:
    """Return a description of the class that has the name, with its place, for a message; None if there is none."""
    return _given.get(name) or next(_found_in_mxnet(name), None)


def is_of_mxnet(name: str) -> bool:
    """Return whether `mx.operator.register` has given the name to a class."""
    return any(_found_in_mxnet(name))


def _found_in_mxnet(name: str) -> Iterator[str]:
    """Yield the class to which `mx.operator.register` has given the name.

    MXNet keeps no list of classes, but it keeps the C callback that creates each; the wrapped function knows its class.
    """
    for kept in list(importlib.import_module("mxnet.operator")._registry.ref_holder.values()):
        for function in gc.get_referents(kept):
            if not isinstance(function, FunctionType) or "reg_name" not in function.__code__.co_freevars:
                continue
            known = inspect.getclosurevars(function).nonlocals
            if known["reg_name"] == name and "prop_cls" in known:
                yield f"class {known['prop_cls'].__name__}, {_place_of(known['prop_cls'])}"


def _place_of(cls: type) -> str:
    """Return the place of the first method, because a class does not record its own line."""
    for member in vars(cls).values():
        if isinstance(member, FunctionType):
            return f"{member.__code__.co_filename}:{member.__code__.co_firstlineno}"
    return f"of module {cls.__module__}"
