"""Register ops in each framework as soon as it is imported, and find the framework of a call."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from pykernels.base.errors import CallError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.base.importing import after_import, is_imported
from pykernels.define.instance import grouped


class Module(Protocol):
    """A loaded op: an `OpModule`."""

    name: str
    path: Path

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes whenever a file does."""


class Framework(Protocol):
    """The interface of a framework's plugin; it provides either `bind` or `call`."""

    def add(self, module: Module) -> None:
        """Register an op, or replace the one with its name."""

    def remove(self, module: Module) -> None:
        """Remove an op."""

    def owns(self, value: Any) -> bool:
        """Return whether a value is a tensor of this framework."""

    def bind(
        self,
        module: Module,
        op_type: str,
        inputs: Sequence[Sequence[Any]],
        attributes: Mapping[str, Any],
        counts: Sequence[int],
    ) -> Callable[..., Sequence[Any]]:
        """Return a function that calls an op with these attributes any number of times.

        It takes the tensors of one argument after the other, in the same number and of the same types as `inputs`. It
        returns `counts` tensors for each output argument, in one sequence. It need not follow reloads of the op.
        """

    def call(
        self,
        module: Module,
        op_type: str,
        inputs: Sequence[Sequence[Any]],
        attributes: Mapping[str, Any],
        counts: Sequence[int],
    ) -> list[Any]:
        """Call an op with tensors for each input argument; return `counts` tensors for each output argument."""


#: The package that the plugin for NumPy's arrays belongs to.
NUMPY = "numpy"
#: Functions that import a framework's plugin, by package.
_PLUGINS: dict[str, Callable[[], Any]] = {
    package: functools.partial(framework.module, "plugin")
    for package, framework in FRAMEWORKS.items()
    if framework.has("plugin") and package != NUMPY
}
# PopXL is our own package, which stands in for Graphcore's.
_PLUGINS["pykernels.vendors.popxl"] = lambda: importlib.import_module("pykernels.vendors.popxl.plugin")

_modules: dict[str, Module] = {}
# The framework that each type of tensor belongs to.
_owners: dict[type, str] = {}


def add(module: Module) -> None:
    """Register an op in every imported framework, and in the others once they are imported."""
    for package in _PLUGINS:
        if is_imported(package):
            _plugin(package).add(module)
    _modules[module.name] = module
    _watch()


def remove(module: Module) -> None:
    """Remove an op from every framework."""
    _modules.pop(module.name, None)
    for package in _PLUGINS:
        if is_imported(package):
            _plugin(package).remove(module)


def bind(
    module: Module,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """Return `Framework.bind` of the framework that owns `inputs`; without any tensor, NumPy's.

    This raises `CallError` if the inputs belong to several frameworks, or to none.
    """
    names = {framework_of(value, op_type) for group in inputs for value in group}
    if len(names) > 1:
        raise CallError(f"op {op_type!r}: its inputs belong to different frameworks: {', '.join(sorted(names))}")
    name = names.pop() if names else NUMPY
    framework = _plugin(name) if name in _PLUGINS else _numpy()
    if hasattr(framework, "bind"):
        return framework.bind(module, op_type, inputs, attributes, counts)
    sizes = [len(group) for group in inputs]

    def call(*tensors: Any) -> list[Any]:
        return framework.call(module, op_type, grouped(tensors, sizes), attributes, counts)

    return call


def framework_of(value: Any, op_type: str) -> str:
    """Return the package that owns `value`, which depends only on its type."""
    name = _owners.get(type(value))
    if name is None:
        name = _owners[type(value)] = _find_owner(value, op_type)
    return name


def _find_owner(value: Any, op_type: str) -> str:
    for package in _PLUGINS:
        if is_imported(package) and _plugin(package).owns(value):
            return package
    if _numpy().owns(value):
        return NUMPY
    kind = type(value)
    what = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    imported = ", ".join(package.rpartition(".")[2] for package in _PLUGINS if is_imported(package))
    tensor = f" or a tensor of {imported}" if imported else ""
    raise CallError(
        f"op {op_type!r}: an input is a {what}, not an array of NumPy{tensor}; np.asarray makes an array of numbers"
    )


@functools.cache  # importlib's look-up of an imported module takes as long as a framework's own op
def _numpy() -> Framework:
    return cast(Framework, FRAMEWORKS[NUMPY].module("plugin"))


@functools.cache
def _plugin(package: str) -> Framework:
    return cast(Framework, _PLUGINS[package]())


def _add_all(package: str) -> None:
    for op in list(_modules.values()):
        _plugin(package).add(op)


@functools.cache  # once per process
def _watch() -> None:
    importlib.import_module("pykernels.compat.mxnet")  # here, since it changes how MXNet is imported
    for package in _PLUGINS:
        after_import(package, functools.partial(_add_all, package))
