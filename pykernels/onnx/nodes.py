"""What ops are called in ONNX models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pykernels.definition import OpDef
from pykernels.errors import LoadError
from pykernels.module import PY_API, OpModule

__all__ = ["DOMAIN", "NodeName", "node_names"]

#: The domain of ops whose folder does not choose another.
DOMAIN = "pykernels"
# What an API file may set.
_DOMAIN, _OP_TYPE = "onnx_domain", "onnx_op_type"


class NodeName(NamedTuple):
    """The domain and the ``op_type`` of a node."""

    domain: str
    op_type: str

    def __str__(self) -> str:
        return f"{self.domain}::{self.op_type}"


def node_names(module: OpModule, *, domain: str | None = None) -> Iterator[tuple[NodeName, OpDef]]:
    """The nodes that a folder defines: that of the op is called as the folder, others as their op types.

    ``onnx_domain`` and ``onnx_op_type`` in the folder's API file choose other names; `domain` overrides the former.

    Raises
    ------
    LoadError
        One of these is no string.
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
