"""The ops that JAX can call, entered into the registrar when they are first needed."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax

from pykernels.base import locks
from pykernels.define.definition import OpDef
from pykernels.frameworks.jax.registrar import Registrar
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.kernel import service
from pykernels.kernel.read.source import KernelFunction
from pykernels.load import requests
from pykernels.load.module import OpModule

_lock = locks.Lock("entering ops into JAX")
_modules: dict[str, OpModule] = {}
_entered: dict[str, Entry] = {}
# Programs keep using what is entered, even after the op is unloaded.
_kept: list[OpModule] = []


@dataclass(frozen=True)
class Entry:
    """An op type."""

    op: OpDef
    kernel: KernelFunction
    #: By which `service.resolve` finds its kernels.
    kernel_id: int
    #: Whether XLA sees through calls.
    fuse: bool


def add(module: OpModule) -> None:
    """Add an op, or replace the one of its name; its first use builds it."""
    remove(module)
    with _lock:
        _modules[module.name] = module


def remove(module: OpModule) -> None:
    """Remove an op. What JAX has compiled with it is traced anew when it is next called."""
    with _lock:
        known = _modules.pop(module.name, None)
        stale = [op_type for op_type, entry in _entered.items() if known and entry.op.definition is known.definition]
        for op_type in stale:
            del _entered[op_type]
            registrar().unload(op_type)
    if stale:
        jax.clear_caches()


def find(op_type: str) -> Entry:
    """Return the loaded op of a type; raise `LoadError` if there is none."""
    entry = _entered.get(op_type)
    if entry is None:
        with _lock:
            _enter(op_type)
            entry = _entered[op_type]
    return entry


def names() -> list[str]:
    """Return the names of the loaded ops."""
    return sorted(_modules)


def module_of(name: str) -> OpModule:
    """Return the folder of a loaded op or op type; raise `LoadError` if there is none."""
    return requests.module_of(name, _modules)


@functools.cache
def registrar() -> Registrar:
    """Return the registrar, built and entered into XLA."""
    return Registrar(build_library("jax").path, service.services(), _load)


def _load(op_type: str) -> None:
    with _lock:
        _enter(op_type)


def _enter(op_type: str) -> None:
    """Give the registrar every op of the folder that `op_type` belongs to."""
    module = module_of(op_type)
    kernel_ids = module.kernel_ids
    _kept.append(module)
    for op in module.definition.ops.values():
        registrar().load(op, kernel_ids[op.name])
        _entered[op.name] = Entry(op, module.kernel(op.name), kernel_ids[op.name], module.fuse)
