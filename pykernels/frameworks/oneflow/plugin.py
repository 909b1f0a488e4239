"""OneFlow 0.8 and 0.9: ops run on its tensors, at once and in graphs, with gradients, as its own ops do."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pykernels.base import fork, locks
from pykernels.base.errors import BuildError, CacheError, CallError, KernelError, LoadError
from pykernels.frameworks.oneflow import devices, shortcuts, states, training, waiting
from pykernels.frameworks.oneflow.registrar import Registrar, build
from pykernels.kernel import service
from pykernels.load import loaded, requests
from pykernels.load.module import OpModule

__all__ = ["add", "bind", "owns", "prepare", "remove", "tell_tensors"]

_modules: dict[str, OpModule] = {}
_entered: dict[str, tuple[str, ...]] = {}
# What the registrar has been given stays in use by graphs and pending calls, even after the op is unloaded.
_kept: list[OpModule] = []
# Whose functions are called without their Python code.
_shortened: set[str] = set()
_lock = locks.Lock("entering ops into OneFlow")


def add(module: OpModule) -> None:
    """Make an op known, or replace the one of its name; nothing is built or entered before it is first called."""
    devices.refuse_missing()
    with _lock:
        remove(module)
        _modules[module.name] = module


def remove(module: OpModule) -> None:
    """Make an op unknown; graphs that use it already keep it."""
    with _lock:
        for name in _entered.pop(module.name, ()):
            _registrar().remove(name)
        _modules.pop(module.name, None)
        _shortened.discard(module.name)


def owns(value: Any) -> bool:
    """Whether `value` is a tensor: on one device or distributed, of numbers or of a graph that is being built."""
    return isinstance(value, sys.modules["oneflow"].Tensor)


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """What calls an op on tensors, or adds it to the graph that is being built.

    Returns
    -------
    callable
        Takes and returns tensors. It raises `RuntimeError` if the definition refuses the inputs, or there is no kernel
        for them, and `KernelError` if a kernel calls it. What goes wrong in the kernel later is raised where OneFlow is
        next waited for, as `FailedKernel`.
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
        _shorten(module)
        if not any("is_train" in function.keywords for function in module.source.functions.values()):
            return run
        runs = {True: make(is_train=True), False: run}
        return lambda *tensors: runs[training.is_training(tensors)](*tensors)


def _shorten(module: OpModule) -> None:
    api = vars(module).get("api")  # if it has been read
    if api is not None and module.name not in _shortened:
        _shortened.add(module.name)
        for function, recipe in shortcuts.recipes(api):
            _registrar().shorten(function, recipe)


def prepare() -> None:
    """Set the registrar up, which keeps short graphs from crashing OneFlow, for graphs without an op of pykernels."""
    # Where it cannot be built, OneFlow is as it is, and ops say why.
    with _lock, contextlib.suppress(LoadError, BuildError, CacheError):
        _registrar()


def tell_tensors(tell: Callable[[bytes, int], None]) -> bool:
    """Have OneFlow tell of tensors in graphs, see `Registrar.tell_tensors`."""
    with _lock:
        return _registrar().tell_tensors(tell)


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    """The registrar of this process, built and set up when an op is first called."""
    registrar = Registrar(
        build(),
        service.services(),
        _load,
        (fork.threads_in_kernels, _refuse_in_kernel),
        vars(loaded),
    )
    waiting.install(registrar.take_failures, registrar.is_worker)
    return registrar


def _refuse_in_kernel(op_type: str) -> None:
    if fork.is_forbidden():
        raise KernelError(f"op {op_type!r} is called in a kernel; combine ops in the API file")


def _load(name: str) -> None:
    """Give the registrar every op of the folder that `name` belongs to."""
    with _lock:
        module = requests.module_of(name, _modules)
        _kept.append(module)
        ops = module.definition.ops
        if name not in ops:
            raise LoadError(f"there is no op {name!r}: {module.definition.path} defines {', '.join(ops)}")
        _entered[module.name] = tuple(ops)
        for op in ops.values():
            _registrar().add(op.name, module.definition.address, op.index, op.gradient, module.number(op.name))
