"""Passes, which are named changes of a model: PopRT's and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pykernels.base.errors import CallError, DefinitionError, PykernelsError
from pykernels.base.refusals import NotProvided
from pykernels.vendors.poprt.user_files import where

if TYPE_CHECKING:
    import onnx

P = TypeVar("P", bound="type[Pass]")

_passes: dict[str, type[Pass]] = {}


class Pass:
    """Base class of passes; a subclass defines `run`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        """Return the result of `run`."""
        return self.run(onnx_model)

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        """Return the changed model; a subclass defines this."""
        raise NotProvided(f"{type(self).__name__} does not define run(self, onnx_model)")

    def traverse_graph(
        self,
        graph: onnx.GraphProto,
        transform: Callable[[onnx.GraphProto, bool], onnx.GraphProto],
        is_main_graph: bool = True,
    ) -> onnx.GraphProto:
        """Transform a graph after its subgraphs; `transform` also receives whether a graph is the main one."""
        for node in graph.node:
            for attribute in node.attribute:
                for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                    inner.CopyFrom(self.traverse_graph(inner, transform, is_main_graph=False))
        return transform(graph, is_main_graph)

    @staticmethod
    def get_pass(name: str, *args: Any, **kwargs: Any) -> Pass:
        """Return a pass, as the function `get_pass` does."""
        return get_pass(name, *args, **kwargs)


def register(name: str) -> Callable[[P], P]:
    """Return a class decorator that registers a pass under a name."""

    def enter(made: P) -> P:
        _passes[name] = made
        return made

    return enter


def get_registered_passes() -> dict[str, type[Pass]]:
    """Return all passes by name."""
    return dict(sorted(_passes.items()))


def get_pass(name: str, *args: Any, **kwargs: Any) -> Pass:
    """Create the pass of a name with the arguments; raise CallError if the pass does not exist."""
    if name not in _passes:
        raise CallError(f"pass {name!r} does not exist; the passes are {', '.join(get_registered_passes())}")
    return _passes[name](*args, **kwargs)


class PassManager:
    """Applies several passes, one after the other.

    Parameters
    ----------
    used_passes : sequence of str or Pass
    """

    def __init__(self, used_passes: Sequence[str | Pass] = ()) -> None:
        self._passes = [get_pass(each) if isinstance(each, str) else each for each in used_passes]

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        """Apply the passes; raise DefinitionError if one raises an exception, does not return a model, or breaks it."""
        names = {made: name for name, made in _passes.items()}
        for each in self._passes:
            onnx_model = _apply(f"pass {names.get(type(each), type(each).__name__)}", each, onnx_model)
        return onnx_model


def _apply(what: str, made: Pass, model: onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    try:
        changed = made(model)
    except PykernelsError:
        raise
    except Exception as error:
        raise DefinitionError(f"{where(error)}: {what} raised {type(error).__name__}: {error}") from error
    if not isinstance(changed, onnx.ModelProto):
        raise DefinitionError(f"{what} returned {type(changed).__name__}; it must return the model")
    try:
        onnx.checker.check_model(changed)
    except Exception as error:
        raise DefinitionError(f"{what} has broken the model: {error}") from error
    return changed
