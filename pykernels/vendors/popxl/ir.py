"""``popxl.Ir``: a main graph, and the graphs that it calls."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall, WrongType
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.module import Module
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream
from pykernels.vendors.popxl.tensor import Tensor, TensorByRef, TensorSpec, graph_input, graph_output

__all__ = ["Ir"]

_ids = itertools.count()


class Ir:
    """What a `Session` runs.

    Parameters
    ----------
    replication : int
        The number of replicas, of which there can be one.

    Attributes
    ----------
    main_graph : Graph
    num_host_transfers : int
        How often a run loads from and stores to each stream; with more than one, data have a first axis of that size.
    """

    def __init__(self, replication: int = 1) -> None:
        self.id = next(_ids)
        self._names: set[str] = set()
        #: Whether a session has taken it over.
        self._closed = False
        self._transfers = 1
        self.main_graph = Graph(self, "")
        self.replication_factor = replication

    @property
    def replication_factor(self) -> int:
        """The number of replicas: 1."""
        return 1

    @replication_factor.setter
    def replication_factor(self, value: int) -> None:
        if value != 1:
            raise CallError(f"popxl.Ir: replication_factor is {value!r}; graphs run on one CPU, so that it must be 1")

    @property
    def instance_replication_factor(self) -> int:
        """The number of replicas: 1."""
        return 1

    @property
    def num_host_transfers(self) -> int:
        """How often a run loads from and stores to each stream."""
        return self._transfers

    @num_host_transfers.setter
    def num_host_transfers(self, value: int) -> None:
        if not isinstance(value, int) or value < 1:
            raise CallError(f"popxl.Ir: num_host_transfers is {value!r}; it must be a positive integer")
        self.check_open()
        self._transfers = value

    def create_graph(self, fn: Callable[..., Any] | Module, *args: Any, **kwargs: Any) -> Graph:
        """A graph of the ops that a function makes.

        Parameters
        ----------
        fn : callable or Module
            Called with inputs of the new graph in place of the tensors; what it returns become the outputs.
        *args, **kwargs
            Arguments of `fn`. Tensors, TensorSpecs, and lists or dictionaries of these only, say what inputs the graph
            has.

        Raises
        ------
        TypeError
            `fn` is no function, or a list has tensors beside other things.
        CallError
            `fn` does not take these arguments, or returns other things than tensors.
        """
        function = fn.build if isinstance(fn, Module) else fn
        if not callable(function):
            raise WrongType(f"Ir.create_graph: {fn!r} is no function, and no popxl.Module")
        name = getattr(type(fn) if isinstance(fn, Module) else fn, "__qualname__", type(fn).__qualname__)
        name = name.rpartition("<locals>.")[2]
        signature = inspect.signature(function)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise CallError(f"Ir.create_graph: {name} does not take these arguments: {error}") from None
        bound.apply_defaults()
        graph = self.create_empty_graph(name)
        with graph:
            for parameter, value in bound.arguments.items():
                annotation = signature.parameters[parameter].annotation
                by_ref = "TensorByRef" in annotation if isinstance(annotation, str) else _is_by_ref(annotation)
                bound.arguments[parameter] = _inputs(name, parameter, value, by_ref)
            for output in _outputs(name, function(*bound.args, **bound.kwargs)):
                graph_output(output)
        return graph

    def create_empty_graph(self, name: str | None = None) -> Graph:
        """A graph without ops."""
        self.check_open()
        numbered = (f"{name or 'graph'}_subgraph({i})" for i in itertools.count())
        return Graph(self, next(free for each in numbered if (free := self._take(each))))

    def get_all_h2d_streams(self) -> set[HostToDeviceStream]:
        """The streams that are loaded from."""
        from pykernels.vendors.popxl.ops.host import HostLoad

        return {op.stream for op in _all_ops(self.main_graph) if isinstance(op, HostLoad)}

    def get_all_d2h_streams(self) -> set[DeviceToHostStream]:
        """The streams that are stored to."""
        from pykernels.vendors.popxl.ops.host import HostStore

        return {op.stream for op in _all_ops(self.main_graph) if isinstance(op, HostStore)}

    def unique(self, name: str, form: str) -> str:
        """`name`, or the first of `form` with it and a number that is not taken."""
        if taken := self._take(name):
            return taken
        return next(n for i in itertools.count() if (n := self._take(form.format(name, i))))

    def check_open(self) -> None:
        """Raise RuntimeError if a session has taken it over."""
        if self._closed:
            raise RefusedCall(f"{self!r} belongs to a popxl.Session, and cannot be changed any more")

    def _take(self, name: str) -> str | None:
        if name in self._names:
            return None
        self._names.add(name)
        return name

    def __repr__(self) -> str:
        return f"Ir[{self.id}]"


def _is_by_ref(annotation: Any) -> bool:
    return annotation is TensorByRef or TensorByRef in getattr(annotation, "__args__", ())


def _inputs(function: str, parameter: str, value: Any, by_ref: bool) -> Any:
    """An argument with inputs of the chosen graph in place of tensors."""
    if isinstance(value, (Tensor, TensorSpec)):
        return graph_input(value.shape, value.dtype, parameter, by_ref=by_ref)
    if not isinstance(value, (tuple, list, dict)):
        return value
    names = list(value) if isinstance(value, dict) else [f"{parameter}_{i}" for i in range(len(value))]
    values = list(value.values()) if isinstance(value, dict) else value
    tensors = [isinstance(each, (Tensor, TensorSpec)) for each in values]
    if not any(tensors):
        return value
    if not all(tensors):
        raise WrongType(
            f"Ir.create_graph: argument {parameter} of {function} has tensors beside other things: {value!r}"
        )
    made = [_inputs(function, str(name), each, by_ref) for name, each in zip(names, values)]
    return dict(zip(names, made)) if isinstance(value, dict) else made


def _outputs(function: str, returned: Any) -> list[Tensor]:
    if returned is None:
        return []
    if isinstance(returned, Tensor):
        return [returned]
    outputs = list(returned) if isinstance(returned, Iterable) else [returned]
    if not all(isinstance(each, Tensor) for each in outputs):
        raise CallError(f"Ir.create_graph: {function} returns {returned!r}; it must return tensors, or nothing")
    return outputs


def _all_ops(main: Graph) -> Iterator[Any]:
    """The ops of the main graph and of all graphs that are called."""
    graphs, seen = [main], {main}
    while graphs:
        graph = graphs.pop()
        yield from graph.ops
        graphs += [called for called in graph.called_graphs if called not in seen]
        seen.update(graphs)
