"""OneFlow 0.8: ops run on its tensors, at once and in graphs, with gradients, as its own ops do."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pykernels import fork
from pykernels.errors import KernelError, LoadError
from pykernels.frameworks import loading, oneflow_registrar, oneflow_states, oneflow_training, oneflow_waiting
from pykernels.kernel import service
from pykernels.module import OpModule

__all__ = ["add", "call", "owns", "remove"]

#: How many calls are remembered: one for every op, number of tensors and set of attributes.
_MOST_CALLS = 1024

_modules: dict[str, OpModule] = {}
_entered: dict[str, tuple[str, ...]] = {}
# What the registrar has been given stays in use by graphs and pending calls, even after the op is unloaded.
_kept: list[OpModule] = []
_calls: dict[tuple[Any, ...], Callable[..., tuple[Any, ...]]] = {}
_lock = threading.RLock()


def add(module: OpModule) -> None:
    """Make an op known, or replace the one of its name; nothing is built or entered before it is first called."""
    with _lock:
        remove(module)
        _modules[module.name] = module


def remove(module: OpModule) -> None:
    """Make an op unknown; graphs that use it already keep it."""
    with _lock:
        for name in _entered.pop(module.name, ()):
            _registrar().remove(name)
        _modules.pop(module.name, None)
        for key in [key for key in _calls if key[0].name == module.name]:
            del _calls[key]


def owns(value: Any) -> bool:
    """Whether `value` is a tensor: on one device or distributed, of numbers or of a graph that is being built."""
    return isinstance(value, sys.modules["oneflow"].Tensor)


def call(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> list[Any]:
    """Call an op on tensors, or add it to the graph that is being built.

    Returns
    -------
    list of Tensor

    Raises
    ------
    RuntimeError
        The definition refuses the inputs, or there is no kernel for them. What goes wrong in the kernel later is
        raised where OneFlow is next waited for, as `FailedKernel`.
    KernelError
        A kernel calls the op.
    """
    if fork.is_forbidden():
        raise KernelError(f"op {op_type!r} is called in a kernel; combine ops in the API file")
    tensors = [tensor for group in inputs for tensor in group]
    is_train = _takes_is_train(module) and oneflow_training.is_training(tensors)
    key = (module, op_type, tuple(map(len, inputs)), tuple(counts), tuple(attributes.values()), is_train)
    run = _calls.get(key) or _make_call(key, attributes)
    return list(run(*tensors))


def _make_call(key: tuple[Any, ...], attributes: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    module, op_type, inputs, outputs, _, is_train = key
    with _lock:
        op = module.definition.ops[op_type]
        run = _registrar().make_call(op, inputs, outputs, attributes, is_train=is_train)
        if any(argument.mutable for argument in op.inputs):
            run = oneflow_states.checked(op, inputs, run)
        if len(_calls) >= _MOST_CALLS:
            _calls.clear()
        _calls[key] = run
        return run


@functools.lru_cache(maxsize=_MOST_CALLS)
def _takes_is_train(module: OpModule) -> bool:
    return any("is_train" in function.keywords for function in module.source.functions.values())


@functools.lru_cache(maxsize=1)
def _registrar() -> oneflow_registrar.Registrar:
    """The registrar of this process, built and set up when an op is first called."""
    registrar = oneflow_registrar.Registrar(oneflow_registrar.build(), service.services(), _load)
    oneflow_waiting.install(registrar.take_failures)
    return registrar


def _load(name: str) -> None:
    """Give the registrar every op of the folder that `name` belongs to."""
    with _lock:
        module = loading.module_of(name, _modules)
        _kept.append(module)
        ops = module.definition.ops
        if name not in ops:
            raise LoadError(f"there is no op {name!r}: {module.definition.path} defines {', '.join(ops)}")
        _entered[module.name] = tuple(ops)
        for op in ops.values():
            _registrar().add(op.name, module.definition.address, op.index, op.gradient, module.number(op.name))
