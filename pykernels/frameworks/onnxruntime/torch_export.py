"""Export PyTorch models with PyTorch's exporter, extended to write our operators as nodes."""

from __future__ import annotations

import operator
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import BuildError, CallError, PykernelsWarning
from pykernels.define.declared import Argument
from pykernels.frameworks.onnxruntime.arguments import group, onnx_value
from pykernels.frameworks.onnxruntime.nodes import NodeName, node_names
from pykernels.load import requests
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    from pykernels.frameworks.torch.layout import Layout

# The schemas of the twins by operator name; a twin lasts as long as the process.
_schemas: dict[str, str] = {}


def export_torch(
    model: Any,
    args: tuple[Any, ...] = (),
    path: str | os.PathLike[str] = "model.onnx",
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> str:
    """Export a PyTorch model to ONNX like ``torch.onnx.export``, with nodes for the loaded ops that it uses.

    Parameters
    ----------
    model : torch.nn.Module or torch.export.ExportedProgram
        In evaluation mode: exported models do not train, and auxiliary states stay as they are.
    args : tuple
        Example inputs; not for an ``ExportedProgram``.
    path : path
        Large parameters go into a file beside it, whose name ends in ``.data``.
    kwargs : mapping, optional
        Example inputs by name.
    dynamic_shapes : optional
        Which dimensions of the inputs may change, as ``torch.export.export`` takes them, or with names for them:
        ``{"x": {0: "batch"}}``.
    **options
        Further arguments of ``torch.onnx.export``, such as ``input_names`` or ``external_data=False``.

    Returns
    -------
    str
        The path.

    Raises
    ------
    CallError
        An op is called as part of training, or with an attribute that is not constant.
    BuildError
        The file cannot be written.
    torch.onnx.OnnxExporterError
        PyTorch cannot export the model.

    Examples
    --------
    >>> pykernels.onnx.export_torch(model, (x,), "model.onnx", dynamic_shapes=({0: "batch"},))
    """
    import torch

    if isinstance(model, torch.nn.Module):
        if model.training:
            text = "the model is exported in training mode, which ONNX Runtime does not have; call model.eval() before"
            warnings.warn(text, PykernelsWarning, stacklevel=2)
        shapes = torch.utils._pytree.tree_map_only(str, lambda _: torch.export.Dim.DYNAMIC, dynamic_shapes)
        model = torch.export.export(model, args, dict(kwargs or {}), dynamic_shapes=shapes)
    table = _translations(model)
    options.setdefault("verbose", False)
    saved = {"external_data": options.pop("external_data", True)}
    with warnings.catch_warnings():
        # PyTorch copies an object that it has deprecated itself.
        warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated", FutureWarning)
        exported = torch.onnx.export(model, dynamic_shapes=dynamic_shapes, custom_translation_table=table, **options)
    target = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix=".pykernels-", dir=target.parent) as folder:
            exported.save(Path(folder, target.name), **saved)
            # Move the model last: it refers to the other files.
            for name in sorted(os.listdir(folder), key=len, reverse=True):
                os.replace(Path(folder, name), target.with_name(name))
    except OSError as error:
        raise BuildError(f"{path} cannot be written: {error.strerror}") from error
    return os.fspath(path)


def _translations(program: Any) -> dict[Any, Callable[..., Any]]:
    """Return the translations of our operators in a program; replace those that the exporter does not accept."""
    import torch

    from pykernels.frameworks.torch.plugin import find

    table = {}
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in list(module.graph.nodes):
            found = find(node.target) if isinstance(node.target, torch._ops.OpOverload) else None
            if found is not None:
                requests.require_outputs(found[1].op, "ONNX Runtime")
                _use_twin(node, found[1])
                table[node.target] = _translation(*found)
        module.recompile()
    return table


def _translation(module: OpModule, layout: Layout) -> Callable[..., Any]:
    """Return an operator's function for ``custom_translation_table``: it maps a call's arguments to its results."""
    op = layout.op
    name = next(name for name, each in node_names(module) if each is op)

    def translate(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(layout.names, args)), **kwargs}
        call = layout.read({key: _theirs(value) for key, value in given.items()})
        if call.is_train:
            raise CallError(
                f"op {op.name!r} is called as part of training, which ONNX Runtime does not do; call model.eval()"
            )
        attributes = {
            attribute.name: onnx_value(attribute.type, call.attributes[attribute.name])
            for attribute in op.attributes
            if attribute.required or call.attributes[attribute.name] != attribute.default
        }
        inputs = [tensor for pair in zip(op.inputs, call.inputs) for tensor in _places(*pair)]
        group(op, op.inputs, inputs, "inputs")  # raises if the node would be ambiguous
        outputs = _add_node(name, inputs, sum(call.counts), attributes)
        return outputs if _is_flat(layout) else layout.pack(outputs, call.counts)

    return translate


def _theirs(value: Any) -> Any:
    """Convert an argument from the exporter's form back to PyTorch's."""
    from onnxscript.ir import DataType

    from pykernels.frameworks.torch.layout import torch_dtype

    if isinstance(value, DataType):
        return torch_dtype(value.numpy())
    return [_theirs(each) for each in value] if isinstance(value, (list, tuple)) else value


def _places(argument: Argument, tensors: Sequence[Any]) -> Sequence[Any]:
    """Return the tensors of an argument, with None for an optional one that is left out."""
    return tensors if tensors or argument.variadic else [None] * argument.count


def _add_node(name: NodeName, inputs: Sequence[Any], n_outputs: int, attributes: Mapping[str, Any]) -> Sequence[Any]:
    """Add a node to the model under construction; return its outputs."""
    from onnx import helper
    from onnx.defs import OpSchema
    from onnxscript.values import Op, Opset

    # The exporter reads the numbers of inputs and outputs and the attributes of a node from a schema.
    option = OpSchema.FormalParameterOption.Optional
    values = [OpSchema.FormalParameter(f"x{i}", f"T{i}", param_option=option) for i in range(len(inputs))]
    results = [OpSchema.FormalParameter(f"y{i}", f"U{i}") for i in range(n_outputs)]
    kinds = [helper.make_attribute(key, value).type for key, value in attributes.items()]
    schema = OpSchema(
        name.op_type,
        name.domain,
        1,
        inputs=values,
        outputs=results,
        type_constraints=[(each.type_str, ["tensor(float)"], "") for each in (*values, *results)],
        attributes=[OpSchema.Attribute(key, OpSchema.AttrType(kind), "") for key, kind in zip(attributes, kinds)],
    )
    made = Op(Opset(name.domain, 1), name.op_type, schema)(*inputs, **attributes)
    return made if isinstance(made, Sequence) else [made]


# -- Twins of operators that the exporter does not accept: with states, or with lists among several results ----------
#
# A twin has the same name in a separate library, and the same arguments. Its schema declares no changes, and it returns
# all tensors in one list where the operator has lists among several results. A twin is traced, but never run.


def _is_flat(layout: Layout) -> bool:
    """Whether a model has all results of an op in one list, unlike the operator."""
    return len(layout.op.outputs) > 1 and any(output.repeated or output.optional for output in layout.op.outputs)


def _use_twin(node: Any, layout: Layout) -> None:
    """Make a node of a graph call the twin of its operator, if it needs one."""
    if _is_flat(layout):
        _flatten(node)
    elif not any(argument.mutable for argument in layout.op.inputs):
        return
    node.target = _twin(node.target, layout)


def _twin(original: Any, layout: Layout) -> Any:
    import torch

    library, _, name = original.name().partition("::")
    arguments, _, results = re.sub(r"\([a-z]!\)", "", layout.schema).rpartition(" -> ")
    schema = f"{arguments} -> {'Tensor[]' if _is_flat(layout) else results}"
    if _schemas.setdefault(original.name(), schema) != schema:
        raise CallError(f"op {layout.op.name!r} has been exported with other arguments before, in this process")
    twin = f"{library}_unchanging::{name}"
    if not torch._C._jit_get_schemas_for_operator(twin):

        def fake(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            return layout.unpack(result) if _is_flat(layout) else result

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
