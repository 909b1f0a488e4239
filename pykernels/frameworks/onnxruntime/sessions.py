"""Register our ops with sessions of ONNX Runtime."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykernels.base import locks
from pykernels.base.errors import ClashError, LoadError
from pykernels.frameworks.onnxruntime.node_dtypes import dtype_rows
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.frameworks.onnxruntime.registrar import Registrar
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.kernel import service
from pykernels.load import discovery, requests
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    import onnxruntime

_lock = locks.Lock("entering ops into ONNX Runtime")
# The numbers of each folder's node types; sessions may use them until the process ends.
_entered: dict[OpModule, dict[NodeName, int]] = {}


def session_options(*ops: str) -> onnxruntime.SessionOptions:
    """Return options for a session whose models may have nodes of our ops.

    Parameters
    ----------
    *ops : str
        The names of loaded ops; without names, all loaded ops.

    Raises
    ------
    CallError, LoadError, DefinitionError, KernelError, BuildError, CacheError
        As in `register`.

    Examples
    --------
    >>> pykernels.load_ops()
    >>> session = onnxruntime.InferenceSession("model.onnx", pykernels.onnx.session_options())
    """
    import onnxruntime  # imported late: pykernels itself imports no framework

    options = onnxruntime.SessionOptions()
    register(options, *ops)
    return options


def register(options: onnxruntime.SessionOptions, *ops: str) -> None:
    """Register the currently loaded ops with the options of a session.

    Every op is a node type that is named after its folder, in the domain ``pykernels`` unless the folder chooses
    another domain. The ops of its gradient are node types, too (``leaky_relu_backward``).

    Parameters
    ----------
    options : onnxruntime.SessionOptions
    *ops : str
        The names of loaded ops; without names, all loaded ops.

    Raises
    ------
    CallError
        An op is not loaded.
    LoadError
        Two ops have the same name in ONNX, a named op has no outputs, or ONNX Runtime does not accept the library.
    DefinitionError, KernelError, BuildError, CacheError
        A folder has an error, as at its first use anywhere else.
    """
    modules = [discovery.find_op(name) for name in ops] if ops else list(discovery.list_ops().values())
    for module in modules if ops else ():
        requests.require_outputs(module.forward, "ONNX Runtime")
    with _lock:
        registrar = _registrar()
        registrar.offer(list(_numbers(modules).values()))
        try:
            options.register_custom_ops_library(str(registrar.path))
        except Exception as error:
            raise LoadError(f"ONNX Runtime does not take our ops: {error}") from error


def _numbers(modules: Iterable[OpModule]) -> dict[NodeName, int]:
    numbers: dict[NodeName, int] = {}
    owners: dict[NodeName, OpModule] = {}
    for module in dict.fromkeys(modules):
        for name, number in _enter(module).items():
            if name in owners:
                raise ClashError(
                    f"two folders define the ONNX op {name}: {owners[name].path} and {module.path}. Rename one, or say "
                    f"which ops to register"
                )
            owners[name], numbers[name] = module, number
    return numbers


def _enter(module: OpModule) -> dict[NodeName, int]:
    """Return the numbers of a folder's node types; create the types on first use."""
    if module not in _entered:
        rows = dtype_rows(module)
        _entered[module] = {
            name: _registrar().add(name.domain, name.op_type, op, module.kernel_id(op.name), rows[op.name])
            for name, op in node_names(module)
            if op.outputs
        }
    return _entered[module]


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    """Return the registrar of this process; build and load it on first use."""
    return Registrar(build_library("onnxruntime").path, service.services())
