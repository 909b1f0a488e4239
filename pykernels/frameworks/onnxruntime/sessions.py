"""Sessions of ONNX Runtime that know our ops."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykernels.base import locks
from pykernels.base.errors import ClashError, LoadError
from pykernels.frameworks.onnxruntime.node_dtypes import dtype_rows
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.frameworks.onnxruntime.registrar import Registrar, build
from pykernels.kernel import service
from pykernels.load import discovery
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["register", "session_options"]

_lock = locks.Lock("entering ops into ONNX Runtime")
# The numbers of the node types of each folder; sessions may use them as long as the process lives.
_entered: dict[OpModule, dict[NodeName, int]] = {}


def session_options(*ops: str) -> onnxruntime.SessionOptions:
    """Options for a session whose models may hold nodes of our ops.

    Parameters
    ----------
    *ops : str
        The names of loaded ops; all that are loaded without any.

    Raises
    ------
    CallError, LoadError, DefinitionError, KernelError, BuildError, CacheError
        As `register`.

    Examples
    --------
    >>> pykernels.load_ops()
    >>> session = onnxruntime.InferenceSession("model.onnx", pykernels.onnx.session_options())
    """
    import onnxruntime  # not above: pykernels imports no framework of itself

    options = onnxruntime.SessionOptions()
    register(options, *ops)
    return options


def register(options: onnxruntime.SessionOptions, *ops: str) -> None:
    """Have sessions with these options know our ops, as they are loaded now.

    Every op is a node type: of the domain ``pykernels``, if its folder does not choose another, and called as the
    folder. The ops of its gradient are node types, too (``leaky_relu_backward``).

    Parameters
    ----------
    options : onnxruntime.SessionOptions
    *ops : str
        The names of loaded ops; all that are loaded without any.

    Raises
    ------
    CallError
        One is not loaded.
    LoadError
        Two ops have the same name in ONNX, or ONNX Runtime does not take the library.
    DefinitionError, KernelError, BuildError, CacheError
        What is wrong with a folder, as when it is first used otherwise.
    """
    modules = [discovery.find_op(name) for name in ops] if ops else list(discovery.list_ops().values())
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
    """The numbers of a folder's node types, which are made when they are first wanted."""
    if module not in _entered:
        rows = dtype_rows(module)
        _entered[module] = {
            name: _registrar().add(name.domain, name.op_type, op, module.number(op.name), rows[op.name])
            for name, op in node_names(module)
        }
    return _entered[module]


@functools.lru_cache(maxsize=1)
def _registrar() -> Registrar:
    """The registrar of this process, built and set up when ops are first registered."""
    return Registrar(build(), service.services())
