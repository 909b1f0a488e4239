"""MXNet 1.9: ops become custom operators, ``mx.nd.Custom(x, op_type='relu')``, that run as machine code."""

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
from pykernels.frameworks.mxnet.registrar import Registrar, build
from pykernels.kernel import blas, service
from pykernels.load import requests
from pykernels.load.module import OpModule

__all__ = ["add", "bind", "owns", "registrar", "remove"]

_modules: dict[str, OpModule] = {}
_entered: dict[str, tuple[str, ...]] = {}
# What the registrar has been given stays in use by graphs and pending calls, even after the op is unloaded.
_kept: list[OpModule] = []
_lock = locks.Lock("entering ops into MXNet")


def add(module: OpModule) -> None:
    """Make an op known under its folder's name and those of its op types, or replace the one of its name.

    Nothing of the folder is built before one of the names is used. A name that a class of the user's has stays with it,
    with a warning.

    Raises
    ------
    BuildError, CacheError
        The registrar is not built yet, and cannot be.
    """
    with _lock:
        registrar = _registrar()
        _forget(module.name)
        _modules[module.name] = module
        for name in _usual_names(module):
            if owner := class_of(name):
                _warn_of_class(module, name, owner)
        names = _free(_usual_names(module))
        for name in names:
            registrar.register(name)
        input_errors.explain(*names)


def remove(module: OpModule) -> None:
    """Make the names of an op unknown; graphs that use it already keep it."""
    with _lock:
        input_errors.leave(*_free((*_usual_names(module), *_entered.get(module.name, ()))))
        _forget(module.name)
        _modules.pop(module.name, None)


def owns(value: Any) -> bool:
    """Whether `value` is an NDArray (``mx.np`` arrays are) or a Symbol."""
    mx = sys.modules["mxnet"]
    return isinstance(value, (mx.nd.NDArray, mx.sym.Symbol))


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., list[Any]]:
    """What calls an op on arrays, or adds it to the graph of symbols.

    Returns
    -------
    callable
        Takes arrays or symbols and gives those of the same kind: those of ``mx.np`` give those of ``mx.np``.
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
    """The registrar of this process, built and set up when it is first wanted.

    Raises
    ------
    BuildError, CacheError
        It is not built yet, and cannot be.
    """
    with _lock:
        return _registrar()


def _function(tensors: Sequence[Any]) -> Any:
    """MXNet's ``Custom`` for tensors of this kind."""
    mx = sys.modules["mxnet"]
    kind = "symbol" if any(map(_is_symbol, tensors)) else "ndarray"
    if any(isinstance(tensor, (mx.np.ndarray, mx.sym.np._Symbol)) for tensor in tensors):
        return importlib.import_module(f"mxnet.{kind}.numpy._internal").Custom
    return importlib.import_module(f"mxnet.{kind}").Custom


def _is_symbol(value: Any) -> bool:
    return isinstance(value, sys.modules["mxnet"].sym.Symbol)


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    registrar = Registrar(build(), service.services(), _load)
    # MXNet's own threads compute its matrix products; a second library with threads would compete with them.
    blas.prefer(importlib.import_module("mxnet.base")._LIB)
    try:
        registrar.enter_engine()
    except LoadError as reason:
        _warn_of_convolutions(reason)
    fork.before_fork(_wait_before_fork, _stop_threads)
    atexit.register(_wait_at_exit)
    return registrar


def _warn_of_convolutions(reason: LoadError) -> None:
    """Tell where MXNet itself goes wrong while ops run on the threads of its custom operators."""
    features = importlib.import_module("mxnet.runtime").Features()
    if features.is_enabled("MKLDNN") and os.environ.get("MXNET_MKLDNN_ENABLED") != "0":
        warnings.warn(
            f"{reason}. Ops run as MXNet's custom operators do, and those get wrong values from MKLDNN convolutions "
            "beside them: set MXNET_MKLDNN_ENABLED=0 before importing mxnet, or install mxnet 1.9.1 from PyPI",
            PykernelsWarning,
            stacklevel=3,
        )


def _wait_at_exit() -> None:
    """Let pending ops end while there is an interpreter: a kernel that still asks for it then aborts the process."""
    mx = sys.modules["mxnet"]
    with contextlib.suppress(mx.MXNetError):
        mx.nd.waitall()


def _wait_before_fork() -> None:
    """Let pending ops end, since MXNet's fork handler waits for threads that may be waiting for each other."""
    mx = sys.modules["mxnet"]
    try:
        mx.nd.waitall()
    except mx.MXNetError as error:
        # It has been told now, so nobody will be told later.
        warnings.warn(
            f"an operation of MXNet that was pending at os.fork() failed: {error}", PykernelsWarning, stacklevel=2
        )


def _stop_threads() -> None:
    """Do what MXNet's own fork handler does, but while other threads can have the interpreter.

    Operators registered with ``mx.operator.register`` need it for a moment after their results are there, and the
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
    """Give the registrar every op of the folder that `name` belongs to."""
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
            registrar.register(entry)
            registrar.add(entry, module.definition.address, op.index, op.gradient, module.number(op.name))


def _usual_names(module: OpModule) -> tuple[str, ...]:
    return module.name, f"{module.name}_forward", f"{module.name}_backward"


def _free(names: Sequence[str]) -> tuple[str, ...]:
    """Those names that no class has."""
    return tuple(name for name in names if class_of(name) is None)


def _warn_of_class(module: OpModule, name: str, owner: str) -> None:
    free = _free(_usual_names(module))
    warnings.warn(
        f"in MXNet the name {name!r} stays with {owner}: the op folder {module.path} does not take it. Give the class "
        f"or the folder another name{f', or call the op as {free[0]!r}' if free else ''}",
        PykernelsWarning,
        stacklevel=2,
    )


def _forget(name: str) -> None:
    for entry in _entered.pop(name, ()):
        _registrar().remove(entry)
