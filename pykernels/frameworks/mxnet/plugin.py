"""The MXNet 1.9 plugin: ops become custom operators, ``mx.nd.Custom(x, op_type="relu")``, that run compiled code."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pykernels.base import fork, locks
from pykernels.base.errors import LoadError, PykernelsWarning
from pykernels.frameworks.mxnet import input_errors
from pykernels.frameworks.mxnet.names import class_of
from pykernels.frameworks.mxnet.registrar import Registrar
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.kernel import blas, service
from pykernels.load import requests
from pykernels.load.module import OpModule

_modules: dict[str, OpModule] = {}
_entered: dict[str, tuple[str, ...]] = {}
# Graphs and pending calls use the modules given to the registrar, even after the op is unloaded.
_kept: list[OpModule] = []
_lock = locks.Lock("entering ops into MXNet")


def add(module: OpModule) -> None:
    """Register an op under its folder's name and the names of its op types; replaces an op of the same name.

    Nothing in the folder is compiled until one of the names is used. A name that belongs to a user's class stays with
    the class, with a warning.

    Raises
    ------
    BuildError, CacheError
        The registrar is not compiled yet, and compiling it fails.
    """
    with _lock:
        registrar = _registrar()
        _forget(module.name)
        _modules[module.name] = module
        for name in _default_names(module):
            if owner := class_of(name):
                _warn_of_class(module, name, owner)
        names = _free(_default_names(module))
        for name in names:
            registrar.register(name)
        input_errors.explain(*names)


def remove(module: OpModule) -> None:
    """Remove the names of an op; graphs that already use it keep it."""
    with _lock:
        input_errors.leave(*_free((*_default_names(module), *_entered.get(module.name, ()))))
        _forget(module.name)
        _modules.pop(module.name, None)


def owns(value: Any) -> bool:
    """Return whether `value` is an NDArray (which includes ``mx.np`` arrays) or a Symbol."""
    mx = sys.modules["mxnet"]
    return isinstance(value, (mx.nd.NDArray, mx.sym.Symbol))


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., list[Any]]:
    """Return a function that calls an op on arrays, or adds it to the graph of symbols.

    Returns
    -------
    callable
        Takes arrays or symbols and returns the same kind: ``mx.np`` arrays for ``mx.np`` arrays.
    """
    op = module.definition.ops[op_type]
    texts = {name: str(value) for name, value in attributes.items()}
    if any(argument.repeated or argument.optional for argument in op.inputs):
        texts["num_args"] = str(tuple(map(len, inputs)))
    if any(argument.repeated or argument.optional for argument in op.outputs):
        texts["num_outputs"] = str(tuple(counts))
    function = functools.partial(_function([tensor for group in inputs for tensor in group]), op_type=op_type, **texts)

    def call(*tensors: Any) -> list[Any]:
        results = function(*tensors)
        if isinstance(results, (list, tuple)):
            return list(results)
        if _is_symbol(results) and (count := len(results.list_outputs())) > 1:
            return [results[i] for i in range(count)]
        return [results]

    return call


def registrar() -> Registrar:
    """Return the registrar of this process, which is compiled and set up on first use.

    Raises
    ------
    BuildError, CacheError
        The registrar is not compiled yet, and compiling it fails.
    """
    with _lock:
        return _registrar()


def _function(tensors: Sequence[Any]) -> Any:
    """Return MXNet's ``Custom`` function for tensors of this kind."""
    mx = sys.modules["mxnet"]
    kind = "symbol" if any(map(_is_symbol, tensors)) else "ndarray"
    if any(isinstance(tensor, (mx.np.ndarray, mx.sym.np._Symbol)) for tensor in tensors):
        return importlib.import_module(f"mxnet.{kind}.numpy._internal").Custom
    return importlib.import_module(f"mxnet.{kind}").Custom


def _is_symbol(value: Any) -> bool:
    return isinstance(value, sys.modules["mxnet"].sym.Symbol)


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    registrar = Registrar(build_library("mxnet").path, service.services(), _load)
    # MXNet's own threads compute its matrix products; another library's threads would compete with them.
    blas.prefer(importlib.import_module("mxnet.base")._LIB)
    try:
        registrar.enter_engine()
    except LoadError as reason:
        _warn_of_convolutions(reason)
    fork.before_fork(_wait_before_fork, _stop_threads)
    atexit.register(_wait_at_exit)
    return registrar


def _warn_of_convolutions(reason: LoadError) -> None:
    """Warn if MXNet itself computes wrong values while ops run on the threads of its custom operators."""
    features = importlib.import_module("mxnet.runtime").Features()
    if features.is_enabled("MKLDNN") and os.environ.get("MXNET_MKLDNN_ENABLED") != "0":
        warnings.warn(
            f"{reason}. Ops run as MXNet's custom operators do, and those get wrong values from MKLDNN convolutions "
            "beside them: set MXNET_MKLDNN_ENABLED=0 before importing mxnet, or install mxnet 1.9.1 from PyPI",
            PykernelsWarning,
            stacklevel=3,
        )


def _wait_at_exit() -> None:
    """Wait for pending ops while the interpreter exists: a kernel that needs it later would abort the process."""
    mx = sys.modules["mxnet"]
    with contextlib.suppress(mx.MXNetError):
        mx.nd.waitall()


def _wait_before_fork() -> None:
    """Wait for pending ops, because MXNet's fork handler waits for threads that may be waiting for each other."""
    mx = sys.modules["mxnet"]
    try:
        mx.nd.waitall()
    except mx.MXNetError as error:
        # MXNet reports an error only once, so it must not be lost.
        warnings.warn(
            f"an operation of MXNet that was pending at os.fork() failed: {error}", PykernelsWarning, stacklevel=2
        )


def _stop_threads() -> None:
    """Do what MXNet's own fork handler does, but while other threads can acquire the GIL.

    Operators registered with ``mx.operator.register`` need the GIL for a moment after their results are ready, and the
    handler waits for their threads.
    """
    libmxnet = importlib.import_module("mxnet.base")._LIB
    with contextlib.suppress(AttributeError):  # a build of MXNet that does not export them
        instance = libmxnet._ZN5mxnet18LibraryInitializer3GetEv
        prepare = libmxnet._ZN5mxnet18LibraryInitializer14atfork_prepareEv
        instance.restype = ctypes.c_void_p
        prepare.restype, prepare.argtypes = None, [ctypes.c_void_p]
        prepare(instance())


def _load(name: str) -> None:
    """Add every op of the folder that `name` belongs to to the registrar."""
    with _lock:
        module = requests.module_of(name, _modules)
        registrar = _registrar()
        ops = module.definition.ops
        if name != module.name and name not in ops:
            raise LoadError(f"there is no op {name!r}: {module.definition.path} defines {', '.join(ops)}")
        _kept.append(module)
        _entered[module.name] = _free((module.name, *ops))
        input_errors.explain(*_entered[module.name])
        for entry in _entered[module.name]:
            op = ops.get(entry) or module.forward
            requests.require_outputs(op, "MXNet")
            registrar.register(entry)
            registrar.add(entry, module.definition.address, op.index, op.gradient, module.kernel_id(op.name))


def _default_names(module: OpModule) -> tuple[str, ...]:
    return module.name, f"{module.name}_forward", f"{module.name}_backward"


def _free(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that do not belong to a class."""
    return tuple(name for name in names if class_of(name) is None)


def _warn_of_class(module: OpModule, name: str, owner: str) -> None:
    free = _free(_default_names(module))
    warnings.warn(
        f"in MXNet the name {name!r} stays with {owner}: the op folder {module.path} does not take it. Give the class "
        f"or the folder another name{f', or call the op as {free[0]!r}' if free else ''}",
        PykernelsWarning,
        stacklevel=2,
    )


def _forget(name: str) -> None:
    for entry in _entered.pop(name, ()):
        _registrar().remove(entry)
