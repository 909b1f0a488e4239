"""Replace operators that PyTorch's ONNX exporter does not accept: with states, or with lists among several results.

A twin has the same name in a separate library, and the same arguments. Its schema declares no changes, and it returns
all tensors in one list where the operator has lists among several results. A twin is traced, but never run.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError

if TYPE_CHECKING:
    from pykernels.frameworks.torch.layout import Layout

# The schemas of the twins by operator name; a twin lasts as long as the process.
_schemas: dict[str, str] = {}


def is_flat(layout: Layout) -> bool:
    """Whether a model has all results of an op in one list, unlike the operator."""
    return len(layout.op.outputs) > 1 and any(output.repeated or output.optional for output in layout.op.outputs)


def use_twin(node: Any, layout: Layout) -> None:
    """Make a node of a graph call the twin of its operator, if it needs one."""
    if is_flat(layout):
        _flatten(node)
    elif not any(argument.mutable for argument in layout.op.inputs):
        return
    node.target = _twin(node.target, layout)


def _twin(original: Any, layout: Layout) -> Any:
    import torch

    library, _, name = original.name().partition("::")
    arguments, _, results = re.sub(r"\([a-z]!\)", "", layout.schema).rpartition(" -> ")
    schema = f"{arguments} -> {'Tensor[]' if is_flat(layout) else results}"
    if _schemas.setdefault(original.name(), schema) != schema:
        raise CallError(f"op {layout.op.name!r} has been exported with other arguments before, in this process")
    twin = f"{library}_unchanging::{name}"
    if not torch._C._jit_get_schemas_for_operator(twin):

        def fake(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            return layout.unpack(result) if is_flat(layout) else result

        torch.library.define(twin, schema)
        torch.library.register_fake(twin, fake)
    return torch._library.utils.lookup_op(twin)


def _flatten(node: Any) -> None:
    """Make the users of a call's results take them from one list."""
    flat: list[Any] = []
    for at, value in enumerate(node.meta["val"]):
        users = [user for user in node.users if user.target is operator.getitem and user.args[1] == at]
        if not isinstance(value, (list, tuple)):
            for user in users:
                user.args = (node, len(flat))
            flat.append(value)
            continue
        for user in users:
            for item in list(user.users):
                item.args = (node, len(flat) + item.args[1])
            user.graph.erase_node(user)
        flat.extend(value)
    node.meta["val"] = flat
