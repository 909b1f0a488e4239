"""Run our nodes in ONNX's reference evaluator, with their kernels as plain NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.call.uses import Use
from pykernels.define.definition import OpDef
from pykernels.define.instance import specs_of
from pykernels.frameworks.onnxruntime.arguments import group, node_attributes
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.kernel import reference, service
from pykernels.kernel.read.signature import group_shapes, signature_of
from pykernels.load import discovery
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun


def reference_ops(*ops: str) -> list[type[OpRun]]:
    """Return implementations of our nodes for ``onnx.reference.ReferenceEvaluator(model, new_ops=...)``.

    Parameters
    ----------
    *ops : str
        The names of loaded ops; without names, all loaded ops.

    Raises
    ------
    CallError
        An op is not loaded.

    Examples
    --------
    >>> evaluator = ReferenceEvaluator(model, new_ops=pykernels.onnx.reference_ops())
    """
    modules = [discovery.find_op(name) for name in ops] if ops else discovery.list_ops().values()
    return [_implementation(name, module, op) for module in modules for name, op in node_names(module)]


def _implementation(name: NodeName, module: OpModule, op: OpDef) -> type[OpRun]:
    from onnx.reference.op_run import OpRun

    def run(self: OpRun, *inputs: Any, **_: Any) -> tuple[np.ndarray, ...]:
        node = self.onnx_node
        groups = group(op, op.inputs, inputs, "inputs")
        counts = [len(names) for names in group(op, op.outputs, list(node.output), "outputs")]
        return _run(module, Use(op, specs_of(groups), node_attributes(op, node), counts), groups)

    # The class attributes name the node for the evaluator; without a schema, `_run` gets the node's own attributes.
    return type(name.op_type, (OpRun,), {"op_domain": name.domain, "op_schema": None, "_run": run})


def _run(module: OpModule, use: Use, groups: list[list[np.ndarray]]) -> tuple[np.ndarray, ...]:
    kernel, instance = module.kernel(use.op.name), use.instance()
    signature = signature_of(use.op, kernel, instance)
    results = [np.empty(spec.shape or (), spec.dtype) for specs in use.infer() for spec in specs]
    args = group_shapes(signature.inputs, (array.copy() for arrays in groups for array in arrays))
    outs = group_shapes(signature.outputs, iter(results))
    # A call on arrays is not a training pass.
    keywords = {**use.attributes, "is_train": False, **dict(signature.constants)}
    values = {name: keywords[name] for name in kernel.keywords}
    reference.run(kernel, use.op.name, args, outs, service.output_names(use.op, instance), values, signature.mutable)
    return tuple(results)
