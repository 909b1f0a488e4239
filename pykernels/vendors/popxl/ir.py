"""Define ``popxl.Ir``, a main graph and the graphs that it calls, and ``popxl.Module``, which builds a graph."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import NotProvided, RefusedCall, WrongType
from pykernels.vendors.popxl.graph import Graph
from pykernels.vendors.popxl.op import HostLoad, HostStore
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream
from pykernels.vendors.popxl.tensor import Tensor, TensorByRef, TensorSpec, graph_input, graph_output

_ids = itertools.count()


class Module:
    """Base class of layers, whose `build` creates the ops and may keep the graph's inputs as attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Iterable[Tensor] | None:
        """Call `build`."""
        return self.build(*args, **kwargs)

    def build(self, *args: Any, **kwargs: Any) -> Tensor | Iterable[Tensor] | None:
        """Create the ops and return the outputs of the graph."""
        raise NotProvided(f"{type(self).__qualname__} is a popxl.Module and has to define build()")


class Ir:
    """An intermediate representation, which a `Session` runs: a main graph and the graphs that it calls.

    Parameters
    ----------
    replication : int
        The number of replicas, which must be 1.

    Attributes
    ----------
    main_graph : Graph
    num_host_transfers : int
        The number of times that a run loads from and stores to each stream. If it exceeds 1, the data have an
        additional first axis of this size.
    """

    def __init__(self, replication: int = 1) -> None:
        self.id = next(_ids)
        self._names: set[str] = set()
        #: Whether a session runs this IR, which makes it read-only.
        self._closed = False
        self._transfers = 1
        self.main_graph = Graph(self, "")
        self.replication_factor = replication

    @property
    def replication_factor(self) -> int:
        """The number of replicas, which is 1."""
        return 1

    @replication_factor.setter
    def replication_factor(self, value: int) -> None:
        if value != 1:
            raise CallError(f"popxl.Ir: replication_factor is {value!r}; graphs run on one CPU, so that it must be 1")

    @property
    def num_host_transfers(self) -> int:
        """The number of times that a run loads from and stores to each stream."""
        return self._transfers

    @num_host_transfers.setter
    def num_host_transfers(self, value: int) -> None:
        if not isinstance(value, int) or value < 1:
            raise CallError(f"popxl.Ir: num_host_transfers is {value!r}; it must be a positive integer")
        self.check_open()
        self._transfers = value

    def create_graph(self, fn: Callable[..., Any] | Module, *args: Any, **kwargs: Any) -> Graph:
        """Return a graph of the ops that a function creates.

        Parameters
        ----------
        fn : callable or Module
            Called with inputs of the new graph in place of the tensors. The tensors that it returns become the outputs.
        *args, **kwargs
            Arguments of `fn`. Each Tensor or TensorSpec, alone or in a list or dictionary of only these, becomes an
            input of the graph.

        Raises
        ------
        TypeError
            `fn` is not callable, or a list or dictionary mixes tensors with other values.
        CallError
            `fn` does not accept these arguments, or returns values that are not tensors.
        """
        function = fn.build if isinstance(fn, Module) else fn
        if not callable(function):
            raise WrongType(f"Ir.create_graph: {fn!r} is neither a function nor a popxl.Module")
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
        """Return a new graph without ops."""
        self.check_open()
        numbered = (f"{name or 'graph'}_subgraph({i})" for i in itertools.count())
        return Graph(self, next(free for each in numbered if (free := self._take(each))))

    def get_all_h2d_streams(self) -> set[HostToDeviceStream]:
        """Return the streams from which the IR loads."""
        return {op.stream for op in _all_ops(self.main_graph) if isinstance(op, HostLoad)}

    def get_all_d2h_streams(self) -> set[DeviceToHostStream]:
        """Return the streams to which the IR stores."""
        return {op.stream for op in _all_ops(self.main_graph) if isinstance(op, HostStore)}

    def unique(self, name: str, form: str) -> str:
        """Return `name`, or if that is taken, the first free result of `form` with the name and a number."""
        if taken := self._take(name):
            return taken
        return next(n for i in itertools.count() if (n := self._take(form.format(name, i))))

    def check_open(self) -> None:
        """Raise RuntimeError if a session runs this IR, which must not change any more."""
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
    """Return an argument with its tensors replaced by new inputs of the current graph."""
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
            f"Ir.create_graph: argument {parameter} of {function} mixes tensors with other values: {value!r}"
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
    """Yield the ops of the main graph and of all graphs that it calls, directly or indirectly."""
    graphs, seen = [main], {main}
    while graphs:
        graph = graphs.pop()
        yield from graph.ops
        graphs += [called for called in graph.called_graphs if called not in seen]
        seen.update(graphs)
