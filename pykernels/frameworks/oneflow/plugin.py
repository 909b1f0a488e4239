"""Run ops in OneFlow 0.8 and 0.9: on tensors, eagerly and in graphs, with gradients."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pykernels.base import fork, locks
from pykernels.base.errors import BuildError, CacheError, CallError, KernelError, LoadError
from pykernels.frameworks.oneflow import devices, states, training, waiting
from pykernels.frameworks.oneflow.registrar import Registrar
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.kernel import service
from pykernels.load import requests
from pykernels.load.module import OpModule

_modules: dict[str, OpModule] = {}
_entered: dict[str, tuple[str, ...]] = {}
# Graphs and pending calls keep using what the registrar has been given, even after the op is unloaded.
_kept: list[OpModule] = []
_lock = locks.Lock("entering ops into OneFlow")


def add(module: OpModule) -> None:
    """Add an op, or replace the one of its name; the first call builds and registers it."""
    devices.refuse_missing()
    with _lock:
        remove(module)
        _modules[module.name] = module


def remove(module: OpModule) -> None:
    """Remove an op; graphs that already use it keep it."""
    with _lock:
        for name in _entered.pop(module.name, ()):
            _registrar().remove(name)
        _modules.pop(module.name, None)


def owns(value: Any) -> bool:
    """Whether `value` is a tensor: local or distributed, with data or in a graph that is being built."""
    return isinstance(value, sys.modules["oneflow"].Tensor)


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """Return a function that calls an op on tensors, or adds it to the graph that is being built.

    Returns
    -------
    callable
        Takes and returns tensors. It raises `RuntimeError` if the definition refuses the inputs, or there is no kernel
        for them, and `KernelError` if a kernel calls it. If the kernel fails later, the next function that waits for
        OneFlow raises `FailedKernel`.
    """
    with _lock:
        if _modules.get(module.name) is not module:
            raise CallError(f"op {op_type!r} has been unloaded or reloaded since this call was built: build it again")
        op = module.definition.ops[op_type]
        sizes = [len(group) for group in inputs]

        def make(*, is_train: bool) -> Callable[..., Sequence[Any]]:
            run = _registrar().make_call(op, sizes, counts, attributes, is_train=is_train)
            return states.checked(op, sizes, run) if any(a.mutable for a in op.inputs) else run

        run = make(is_train=False)
        if not any("is_train" in function.keywords for function in module.source.functions.values()):
            return run
        runs = {True: make(is_train=True), False: run}
        return lambda *tensors: runs[training.is_training(tensors)](*tensors)


def prepare() -> None:
    """Set up the registrar for graphs without pykernels ops, too: it keeps short graphs from crashing OneFlow."""
    # If it cannot be built, OneFlow stays unchanged, and calls of ops report the reason.
    with _lock, contextlib.suppress(LoadError, BuildError, CacheError):
        _registrar()


def report_tensors(report: Callable[[bytes, int], None]) -> bool:
    """Make OneFlow report tensors in graphs, see `Registrar.report_tensors`."""
    with _lock:
        return _registrar().report_tensors(report)


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    """Return the registrar of this process; the first call builds it and sets it up."""
    registrar = Registrar(
        build_library("oneflow").path,
        service.services(),
        _load,
        (fork.threads_in_kernels, _refuse_in_kernel),
    )
    waiting.install(registrar.take_failures, registrar.is_worker)
    return registrar


def _refuse_in_kernel(op_type: str) -> None:
    if fork.is_forbidden():
        raise KernelError(f"op {op_type!r} is called in a kernel; combine ops in the API file")


def _load(name: str) -> None:
    """Add all ops of the folder to which `name` belongs to the registrar."""
    with _lock:
        module = requests.module_of(name, _modules)
        _kept.append(module)
        ops = module.definition.ops
        if name not in ops:
            raise LoadError(f"there is no op {name!r}: {module.definition.path} defines {', '.join(ops)}")
        _entered[module.name] = tuple(ops)
        for op in ops.values():
            requests.require_outputs(op, "OneFlow")
            _registrar().add(op.name, module.definition.address, op.index, op.gradient, module.kernel_id(op.name))
