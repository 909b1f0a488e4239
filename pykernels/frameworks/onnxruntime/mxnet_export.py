"""Export MXNet models with MXNet's exporter, extended to write our ops as nodes."""

from __future__ import annotations

import ast
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base import dtypes
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.frameworks.onnxruntime.arguments import onnx_value
from pykernels.frameworks.onnxruntime.node_dtypes import output_dtypes
from pykernels.frameworks.onnxruntime.nodes import node_names
from pykernels.load import discovery

if TYPE_CHECKING:
    import onnx

#: The newest opset of MXNet's translations, whichever one they are asked for.
_OPSET = 13
# The attributes of `mx.sym.Custom` that are not the op's own.
_OP_TYPE, _COUNTS = "op_type", {"inputs": "num_args", "outputs": "num_outputs"}


def export_mxnet(
    sym: Any,
    params: Any,
    in_shapes: Sequence[tuple[int, ...]],
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    **options: Any,
) -> str:
    """Export an MXNet model to ONNX like ``mx.onnx.export_model``, with nodes for the loaded ops that it uses.

    Parameters
    ----------
    sym, params
        A symbol and its parameters, or the paths of the files that hold them (``HybridBlock.export``).
    in_shapes : sequence of tuple of int
        The shapes of the inputs.
    in_types : dtype or list of dtype
    onnx_file_path : path
    **options
        Further arguments of ``mx.onnx.export_model``, such as ``dynamic=True`` for shapes that may change.

    Returns
    -------
    str
        The path.

    Raises
    ------
    CallError
        The model uses a custom operator that is not loaded.
    AttributeError
        MXNet cannot translate one of its own operators.
    """
    import onnx.checker

    mx2onnx = importlib.import_module("mxnet.onnx")
    graph = importlib.import_module("mxnet.onnx.mx2onnx._export_onnx").MXNetGraph
    domains: set[str] = set()
    aliases: list[onnx.NodeProto] = []
    # MXNet checks the graph without declaring our domains.
    context = onnx.checker.DEFAULT_CONTEXT
    known = context.opset_imports

    def convert(node: Mapping[str, Any], **found: Any) -> Any:
        made, kinds, names = _convert(node, found["outputs_lookup"])
        domains.add(made.domain)
        context.opset_imports = {**context.opset_imports, made.domain: 1}
        # MXNet names the outputs of a graph differently from the outputs of its nodes.
        own = [onnx.helper.make_node("Identity", [tensor], [name]) for tensor, name in zip(made.output, names)]
        aliases.extend(own)
        return [made, *own], kinds

    registry = graph.registry_.setdefault(_OPSET, {})
    registry["Custom"] = convert
    try:
        with tempfile.TemporaryDirectory() as folder:
            written = mx2onnx.export_model(
                sym, params, list(in_shapes), in_types, str(Path(folder, "model.onnx")), **options
            )
            model = onnx.load(written)
    finally:
        del registry["Custom"]
        context.opset_imports = known
    for alias in aliases:
        _resolve(model.graph, alias)
    del model.opset_import[:]
    versions = {"": _OPSET, **dict.fromkeys(sorted(domains), 1)}
    model.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in versions.items())
    onnx.save(model, onnx_file_path)
    return os.fspath(onnx_file_path)


def _convert(
    node: Mapping[str, Any], outputs: Sequence[Sequence[Any]]
) -> tuple[onnx.NodeProto, list[np.dtype], list[str]]:
    """Return the node of a custom operator, the dtypes of its outputs, and MXNet's names for them."""
    from onnx import helper

    texts = dict(node["attrs"])
    op_type = texts.pop(_OP_TYPE)
    module = discovery.find_op(op_type)
    op = module.definition.ops[op_type if op_type != module.name else f"{module.name}_forward"]
    domain, name = next(found for found, each in node_names(module) if each is op)
    given = [outputs[at][index] for at, index, *_ in node["inputs"]]
    n_inputs = _counts(op.inputs, texts.pop(_COUNTS["inputs"], None), len(given))
    n_outputs = _counts(op.outputs, texts.pop(_COUNTS["outputs"], None), None)
    inputs, at, numbers = [], 0, []
    for argument, count in zip(op.inputs, n_inputs):
        group = given[at : at + count]
        inputs += [tensor.name for tensor in group] or [""] * argument.count
        numbers.append(dtypes.number_of(group[0].dtype) if group else 0)
        at += count
    while inputs and not inputs[-1]:
        inputs.pop()
    total = sum(n_outputs)
    names = [node["name"]] if total == 1 else [f"{node['name']}{i}" for i in range(total)]
    made = helper.make_node(name, inputs, names, name=node["name"], domain=domain, **_attributes(op, texts))
    found = output_dtypes(module, op, numbers)
    kinds = [dtypes.from_number(number) for number, count in zip(found, n_outputs) for _ in range(count)]
    labels = [
        f"{node['name']}_{argument.name}{f'_{index}' if argument.repeated else ''}"
        for argument, count in zip(op.outputs, n_outputs)
        for index in range(count)
    ]
    return made, kinds, labels


def _resolve(graph: onnx.GraphProto, alias: onnx.NodeProto) -> None:
    """Remove an alias of a tensor from a graph; if the alias is a graph output, rename the tensor to it."""
    graph.node.remove(alias)
    source, target = alias.input[0], alias.output[0]
    if all(value.name != target for value in graph.output):
        return
    for node in graph.node:
        for names in (node.input, node.output):
            for at, name in enumerate(names):
                if name == source:
                    names[at] = target


def _counts(arguments: Sequence[Argument], text: str | None, total: int | None) -> list[int]:
    """Return the number of tensors of each argument: those that the operator declares, or as few as possible."""
    given = ast.literal_eval(text) if text is not None else None
    if isinstance(given, (tuple, list)):
        return list(given)
    counts = [0 if argument.optional else argument.count for argument in arguments]
    left = (given if given is not None else total if total is not None else sum(counts)) - sum(counts)
    for at, argument in enumerate(arguments):
        more = left if argument.variadic else min(left, argument.count) if argument.optional else 0
        counts[at] += more
        left -= more
    return counts


def _attributes(op: OpDef, texts: Mapping[str, str]) -> dict[str, Any]:
    """Convert the attributes of a custom operator to ONNX."""
    values = op.parse_attributes(texts)
    types = {attribute.name: attribute.type for attribute in op.attributes}
    return {name: onnx_value(types[name], values[name]) for name in texts}
