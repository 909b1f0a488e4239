"""Create sessions from models: register the ops that they use and adapt what ONNX Runtime refuses."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import LoadError, PykernelsError
from pykernels.base.refusals import WrongType
from pykernels.frameworks.onnxruntime.arguments import node_attributes
from pykernels.frameworks.onnxruntime.inference import infer_shapes
from pykernels.frameworks.onnxruntime.nodes import NodeName, find_node, walk
from pykernels.frameworks.onnxruntime.sessions import register

if TYPE_CHECKING:
    import onnx
    import onnxruntime

# ONNX Runtime's message for a model of a newer IR version than it supports.
_TOO_NEW = re.compile(r"Unsupported model IR version: \d+, max supported IR version: (\d+)")


def session(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    options: onnxruntime.SessionOptions | None = None,
    **arguments: Any,
) -> onnxruntime.InferenceSession:
    """Create a session for a model that uses loaded ops.

    This registers the ops that the model uses and checks their attributes. If the model has a newer IR version than the
    installed ONNX Runtime supports, the session loads a copy with an older one.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        The model; it is not changed.
    options : onnxruntime.SessionOptions, optional
        The options of the session, to which the ops are added.
    **arguments
        Further arguments of ``onnxruntime.InferenceSession``, such as ``providers``.

    Raises
    ------
    LoadError
        The model cannot be read.
    CallError
        An op of the domain ``pykernels`` is not loaded, or is used wrongly.
    onnxruntime's own errors
        ONNX Runtime refuses the model.

    Examples
    --------
    >>> pykernels.load_ops()
    >>> session = pykernels.onnx.session("model.onnx")
    """
    import onnxruntime

    proto = _read(model)
    used = _check(proto)
    options = options if options is not None else onnxruntime.SessionOptions()
    if used:
        register(options, *used)
    changed = _complete(proto)
    while True:
        # With a path, large models and external tensors stay in their files.
        keep = changed is proto and isinstance(model, (str, os.PathLike))
        source = os.fspath(model) if keep else _with_data(changed, model).SerializeToString()
        try:
            return onnxruntime.InferenceSession(source, options, **arguments)
        except Exception as error:
            newest = _TOO_NEW.search(str(error))
            if newest is None or int(newest[1]) >= changed.ir_version:
                raise
        changed = _copy(changed)
        changed.ir_version = int(newest[1])


def _read(model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (bytes, str, os.PathLike)):
        raise WrongType(
            f"a model is given by its path, as bytes or as an onnx.ModelProto, not as {type(model).__name__}"
        )
    what = "the model" if isinstance(model, bytes) else os.fspath(model)
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model)
        return onnx.load(model, load_external_data=False)
    except OSError as error:
        raise LoadError(f"{what} cannot be read: {error.strerror}") from error
    except Exception as error:  # protobuf's errors, which differ between versions
        raise LoadError(f"{what} is not an ONNX model: {error}") from error


def _check(model: onnx.ModelProto) -> list[str]:
    """Return the names of the ops that a model uses; raise an error for an invalid node."""
    used: dict[str, None] = {}
    for node in walk(model.graph):
        found = find_node(node)
        if found is None:
            continue
        module, op = found
        try:
            node_attributes(op, node)
        except PykernelsError as error:
            raise type(error)(f"node {node.name!r} ({NodeName(node.domain, node.op_type)}): {error}") from None
        used[module.name] = None
    return list(used)


def _complete(model: onnx.ModelProto) -> onnx.ModelProto:
    """Add the types that ONNX Runtime does not infer itself: of nodes with an omitted input before others."""
    ours = (node for node in walk(model.graph) if find_node(node) is not None)
    return infer_shapes(model) if any("" in node.input for node in ours) else model


def _with_data(model: onnx.ModelProto, origin: Any) -> onnx.ModelProto:
    """Return the model with its external tensors loaded."""
    from onnx.external_data_helper import load_external_data_for_model

    if isinstance(origin, (str, os.PathLike)):
        model = _copy(model)
        load_external_data_for_model(model, str(Path(origin).parent))
    return model


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copied = type(model)()
    copied.CopyFrom(model)
    return copied
