"""Export PyTorch models with PyTorch's exporter, extended to write our operators as nodes."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pykernels.base.errors import BuildError, PykernelsWarning
from pykernels.frameworks.onnxruntime.torch_nodes import translation
from pykernels.frameworks.onnxruntime.torch_twins import use_twin


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
                use_twin(node, found[1])
                table[node.target] = translation(*found)
        module.recompile()
    return table
