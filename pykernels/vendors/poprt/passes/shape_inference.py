"""Shape functions of custom ops with the interface of PopRT 1.0, and the shape inference that calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pykernels.base.errors import DefinitionError, PykernelsError
from pykernels.base.refusals import NotProvided
from pykernels.vendors.poprt.passes.onnx_helper import find_value_info
from pykernels.vendors.poprt.types import agree, describe
from pykernels.vendors.poprt.user_files import where

if TYPE_CHECKING:
    import onnx

T = TypeVar("T", bound=Callable[..., Any])

#: The shape functions by op type; each maps a model and a node to the model and whether the outputs are known.
_functions: dict[str, Callable[[Any, Any], Any]] = {}
# The domains of ONNX itself.
_OWN_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")


class ShapeInference:
    """Base class of shape functions; a subclass defines ``__call__``."""

    def __call__(self, model: onnx.ModelProto, node: onnx.NodeProto) -> tuple[onnx.ModelProto, bool]:
        """Add the types of the node's outputs; return the model and whether they are known. A subclass defines this."""
        raise NotProvided(f"{type(self).__name__} does not define __call__(self, model, node)")

    def update_value_info(self, model: onnx.ModelProto, value_info: onnx.ValueInfoProto) -> onnx.ModelProto:
        """Add the type and shape of a tensor to the model; raise DefinitionError if they contradict what it says."""
        known = find_value_info(model.graph, value_info.name)
        if known is None:
            model.graph.value_info.append(value_info)
            return model
        if not agree(known.type.tensor_type, value_info.type.tensor_type):
            raise DefinitionError(
                f"it says that {value_info.name} is {describe(value_info)}, but the model says {describe(known)}"
            )
        known.CopyFrom(value_info)
        return model


def register(op_types: str | Sequence[str]) -> Callable[[T], T]:
    """Return a decorator that registers a shape function, or a class of them, for op types outside ONNX's domains."""

    def enter(function: T) -> T:
        for op_type in [op_types] if isinstance(op_types, str) else op_types:
            _functions[op_type] = function() if isinstance(function, type) else function
        return function

    return enter


def served_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Return the nodes of the main graph that have registered shape functions."""
    return (n for n in model.graph.node if n.op_type in _functions and n.domain not in _OWN_DOMAINS)


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer types and shapes by alternating ONNX's inference and the registered functions until nothing changes.

    Raise DefinitionError if a function raises an exception, does not return a model and a bool, or contradicts the
    model.
    """
    model = _infer(model)
    if not any(served_nodes(model)):
        return model
    before = b""
    # Limit the number of rounds, since a function may keep changing the model.
    for _ in range(len(model.graph.node) + 1):
        for node in list(served_nodes(model)):
            model = _ask(model, node)
        model = _infer(model)
        now = model.SerializeToString(deterministic=True)
        if now == before:
            break
        before = now
    _infer(model, strict_mode=True)
    return model


def _infer(model: onnx.ModelProto, *, strict_mode: bool = False) -> onnx.ModelProto:
    import onnx.shape_inference

    try:
        return onnx.shape_inference.infer_shapes(model, strict_mode=strict_mode)
    except Exception as error:
        raise DefinitionError(f"the shapes of the model contradict each other: {error}") from error


def _ask(model: onnx.ModelProto, node: onnx.NodeProto) -> onnx.ModelProto:
    import onnx

    function = _functions[node.op_type]
    what = f"the shape function of {node.op_type}"
    try:
        answer = function(model, node)
    except PykernelsError as error:
        raise type(error)(f"{what} is wrong: {error}") from error
    except Exception as error:
        raise DefinitionError(f"{where(error)}: {what} raised {type(error).__name__}: {error}") from error
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], onnx.ModelProto)):
        raise DefinitionError(f"{what} returned {type(answer).__name__}; it must return the model and True or False")
    changed, known = answer
    for name in filter(None, node.output if known else ()):
        value = find_value_info(changed.graph, name)
        if value is None or not value.type.tensor_type.elem_type or not value.type.tensor_type.HasField("shape"):
            raise DefinitionError(f"{what} returned True, but the type and shape of {name} are not known")
    return changed
