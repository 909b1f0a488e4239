"""Enter ops into each framework as soon as that is imported, and find the framework of a call."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from pykernels.base.errors import CallError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.base.importing import after_import, is_imported

__all__ = ["Framework", "add", "bind", "remove"]


class Named(Protocol):
    """What is loaded as an op: an `OpModule`."""

    name: str


class Framework(Protocol):
    """What a module of this package provides: of `bind` and `call` one."""

    def add(self, module: Named) -> None:
        """Enter an op, or replace the one of its name."""

    def remove(self, module: Named) -> None:
        """Take an op out."""

    def owns(self, value: Any) -> bool:
        """Whether a value is a tensor of this framework."""

    def bind(
        self,
        module: Named,
        op_type: str,
        inputs: Sequence[Sequence[Any]],
        attributes: Mapping[str, Any],
        counts: Sequence[int],
    ) -> Callable[..., Sequence[Any]]:
        """What calls an op with these attributes, any number of times.

        It takes tensors, argument after argument, as many and of the same types as `inputs` has for each, and returns
        `counts` tensors for each output argument, in one sequence. It need not see later versions of the op.
        """

    def call(
        self,
        module: Named,
        op_type: str,
        inputs: Sequence[Sequence[Any]],
        attributes: Mapping[str, Any],
        counts: Sequence[int],
    ) -> list[Any]:
        """Call an op: tensors for each input argument in, `counts` tensors for each output argument out."""


_NUMPY = "numpy"
#: By package that ops are entered into, what imports the plugin for it.
_PLUGINS: dict[str, Callable[[], Any]] = {
    package: functools.partial(framework.module, "plugin")
    for package, framework in FRAMEWORKS.items()
    if framework.has("plugin") and package != _NUMPY
}
# What stands in for a package that is not installed is one of our own.
_PLUGINS["pykernels.vendors.popxl"] = lambda: importlib.import_module("pykernels.vendors.popxl.plugin")

_modules: dict[str, Named] = {}
# By type, the framework that has it.
_owners: dict[type, str] = {}


def add(module: Named) -> None:
    """Enter an op into every framework that is imported, and into the others once they are."""
    for package in _PLUGINS:
        if is_imported(package):
            _plugin(package).add(module)
    _modules[module.name] = module
    _watch()


def remove(module: Named) -> None:
    """Take an op out of every framework."""
    _modules.pop(module.name, None)
    for package in _PLUGINS:
        if is_imported(package):
            _plugin(package).remove(module)


def bind(
    module: Named,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """`Framework.bind` of the framework whose tensors `inputs` are; NumPy's arrays are the last resort.

    Raises
    ------
    CallError
        They belong to several frameworks, or to none.
    """
    names = {_name_of(value, op_type) for group in inputs for value in group}
    if len(names) > 1:
        raise CallError(f"op {op_type!r}: its inputs belong to different frameworks: {', '.join(sorted(names))}")
    name = names.pop() if names else _NUMPY
    framework = _plugin(name) if name in _PLUGINS else _numpy()
    if hasattr(framework, "bind"):
        return framework.bind(module, op_type, inputs, attributes, counts)
    sizes = [len(group) for group in inputs]

    def call(*tensors: Any) -> list[Any]:
        given = iter(tensors)
        groups = [list(itertools.islice(given, size)) for size in sizes]
        return framework.call(module, op_type, groups, attributes, counts)

    return call


def _name_of(value: Any, op_type: str) -> str:
    """The framework that owns `value`, which depends on its type alone."""
    name = _owners.get(type(value))
    if name is None:
        name = _owners[type(value)] = _find_owner(value, op_type)
    return name


def _find_owner(value: Any, op_type: str) -> str:
    for package in _PLUGINS:
        if is_imported(package) and _plugin(package).owns(value):
            return package
    if _numpy().owns(value):
        return _NUMPY
    kind = type(value)
    what = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    imported = ", ".join(package.rpartition(".")[2] for package in _PLUGINS if is_imported(package))
    tensor = f" or a tensor of {imported}" if imported else ""
    raise CallError(
        f"op {op_type!r}: an input is a {what}, not an array of NumPy{tensor}; np.asarray makes an array of numbers"
    )


@functools.cache  # looking an imported module up takes importlib as long as a framework's own op
def _numpy() -> Framework:
    return cast(Framework, FRAMEWORKS[_NUMPY].module("plugin"))


@functools.cache
def _plugin(package: str) -> Framework:
    return cast(Framework, _PLUGINS[package]())


def _add_all(package: str) -> None:
    for op in list(_modules.values()):
        _plugin(package).add(op)


@functools.cache  # once for a process
def _watch() -> None:
    for package in _PLUGINS:
        after_import(package, functools.partial(_add_all, package))
