"""Names of ops in ONNX models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pykernels.base.errors import CallError, LoadError
from pykernels.define.definition import OpDef
from pykernels.load import discovery
from pykernels.load.folders import PY_API
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    import onnx

#: The domain of ops whose folder does not choose another domain.
DOMAIN = "pykernels"
# The names that an API file may set.
_DOMAIN, _OP_TYPE = "onnx_domain", "onnx_op_type"


class NodeName(NamedTuple):
    """The domain and the ``op_type`` of a node."""

    domain: str
    op_type: str

    def __str__(self) -> str:
        return f"{self.domain}::{self.op_type}"


def node_names(module: OpModule, *, domain: str | None = None) -> Iterator[tuple[NodeName, OpDef]]:
    """Yield the nodes that a folder defines: the op's node is named after the folder, others after their op types.

    ``onnx_domain`` and ``onnx_op_type`` in the folder's API file choose other names; `domain` overrides the former.

    Raises
    ------
    LoadError
        One of these is not a string.
    """
    domain, name = domain or _chosen(module, _DOMAIN, DOMAIN), _chosen(module, _OP_TYPE, module.name)
    for op in module.definition.ops.values():
        part = op.name.removeprefix(module.name)
        yield NodeName(domain, name if part == "_forward" else f"{name}{part}"), op


def _chosen(module: OpModule, variable: str, default: str) -> str:
    value = getattr(module.api, variable, default)
    if not isinstance(value, str) or not value:
        raise LoadError(
            f"{module.files[PY_API]}: {variable} is {value!r}; it must be the name of the op in ONNX models"
        )
    return value


def find_node(node: onnx.NodeProto) -> tuple[OpModule, OpDef] | None:
    """Return the loaded op of a node; None if the node's domain is not ours.

    Raises
    ------
    CallError
        The node's domain is ours, but there is no such op.
    """
    for module in discovery.list_ops().values():
        domain, name = _chosen(module, _DOMAIN, DOMAIN), _chosen(module, _OP_TYPE, module.name)
        # Ask the definition, which may have to be compiled, only if it can define the node.
        if node.domain == domain and (node.op_type == name or node.op_type.startswith(f"{name}_")):
            for found, op in node_names(module):
                if found.op_type == node.op_type:
                    return module, op
    # Other domains may also hold ops that are not ours.
    if node.domain != DOMAIN:
        return None
    loaded = ", ".join(discovery.list_ops()) or "none; call pykernels.load_ops()"
    raise CallError(
        f"the model has a node{f' {node.name!r}' if node.name else ''} of {NodeName(node.domain, node.op_type)}, but "
        f"there is no such op. Loaded are: {loaded}"
    )


def walk(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of a graph and its subgraphs, in order."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from walk(inner)
