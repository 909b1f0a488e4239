"""``flow.global_function``: functions on arrays, run as graphs."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.compat.oneflow_typing import ListNumpy, Numpy, Placeholder
from pykernels.errors import CallError

__all__ = ["global_function"]

# The threads that run graphs are not there in a forked child.
_process = os.getpid()


def global_function(
    type: str = "predict", function_config: flow.FunctionConfig | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of tensors a job: a function of NumPy arrays that runs as a graph.

    Parameters
    ----------
    type : str
        ``"predict"``; jobs of type ``"train"`` are not supported.
    function_config : flow.FunctionConfig, optional
        Settings of the graph.

    Returns
    -------
    callable
        The decorator. Every parameter of the function that it takes must be annotated with a placeholder, and its
        result with ``tp.Numpy``, ``tp.ListNumpy`` or a tuple of them.

    Raises
    ------
    CallError
        An argument, or an annotation of the function, is none of these.

    Examples
    --------
    >>> @flow.global_function()
    ... def relu(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
    ...     return flow.relu(x)
    >>> y = relu(np.ones(5, np.float32))
    """
    if callable(type):
        raise CallError("@flow.global_function has to be called: @flow.global_function()")
    if type == "train":
        raise CallError(
            "flow.global_function(type='train') is not supported, nor are its optimizers: pykernels runs jobs of type "
            "'predict'. Train with a flow.nn.Graph that has an optimizer (add_optimizer)"
        )
    if type != "predict":
        raise CallError(f"flow.global_function(type={type!r}): the type of a job is 'predict'")
    settings = _settings(function_config)

    def make_job(function: Callable[..., Any]) -> Callable[..., Any]:
        job = _Job(function, settings)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return job(args, kwargs)

        return call

    return make_job


def _settings(config: flow.FunctionConfig | None) -> Any:
    """The settings of a `FunctionConfig`, in the form that graphs have."""
    if config is None:
        config = flow.FunctionConfig()
    if not isinstance(config, flow.FunctionConfig):
        raise CallError(f"flow.global_function: function_config must be a flow.FunctionConfig, not {config!r}")
    description = config.function_desc
    defaults = vars(flow.FunctionConfig().function_desc.function_attribute)
    for name, value in vars(description.function_attribute).items():
        if value != defaults[name]:
            raise CallError(f"flow.global_function: function_config sets {name}, which is not supported")
    return description.job_config_proto


class _Job:
    """A function, and the graphs that have been made of it: one for each combination of input shapes."""

    def __init__(self, function: Callable[..., Any], settings: Any) -> None:
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            raise CallError(f"@flow.global_function() makes a job of a function, not of {function!r}")
        self._name = f"{code.co_filename}:{code.co_firstlineno}: job {function.__name__}"
        self._function = function
        self._settings = settings
        self._signature = inspect.signature(function, eval_str=True)
        self._placeholders = self._read_parameters(self._signature.parameters)
        self._result = self._signature.return_annotation
        self._check_result(self._result)
        self._graphs: dict[tuple[tuple[int, ...], ...], flow.nn.Graph] = {}
        self._lock = threading.RLock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if os.getpid() != _process:
            raise RuntimeError(
                f"{self._name} cannot run in process {os.getpid()}, which was forked after OneFlow had been started in "
                f"process {_process}; start workers with the multiprocessing method 'spawn'"
            )
        try:
            given = self._signature.bind(*args, **kwargs)
            given.apply_defaults()
            arrays = [each.convert(given.arguments[name], name) for name, each in self._placeholders.items()]
        except (TypeError, CallError) as error:
            raise CallError(f"{self._name}: {error}") from None
        tensors = [flow.tensor(array) for array in arrays]
        with self._lock:
            shapes = tuple(array.shape for array in arrays)
            graph = self._graphs.get(shapes)
            if graph is None:
                graph = self._make_graph()
            outputs = iter(graph(*tensors))
            # Not before it has run: the first call builds it, which may fail.
            self._graphs[shapes] = graph
            return _fill(self._result, outputs)

    def _read_parameters(self, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Placeholder]:
        for name, parameter in parameters.items():
            if not isinstance(parameter.annotation, Placeholder) or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                raise CallError(
                    f"{self._name}: parameter '{name}' has to be annotated with a placeholder, as in "
                    f"{name}: tp.Numpy.Placeholder((5,), dtype=flow.float32)"
                )
        return {name: parameter.annotation for name, parameter in parameters.items()}

    def _check_result(self, annotation: Any) -> None:
        items = _items(annotation)
        if (items is None and annotation not in (Numpy, ListNumpy)) or items == ():
            raise CallError(
                f"{self._name}: its result has to be annotated with tp.Numpy, tp.ListNumpy or a tuple of them, "
                f"as in -> Tuple[tp.Numpy, tp.Numpy]"
            )
        for item in items or ():
            self._check_result(item)

    def _make_graph(self) -> flow.nn.Graph:
        job = self

        class Job(flow.nn.Graph):  # type: ignore[misc]
            def build(self, *tensors: Any) -> list[Any]:
                result = job._function(**dict(zip(job._placeholders, tensors)))
                return list(job._flatten(job._result, result))

        graph = Job()
        # What the graph has set itself stays.
        graph.config.proto.MergeFrom(self._settings)
        return graph

    def _flatten(self, annotation: Any, result: Any) -> Iterator[Any]:
        """The tensors of what the function returned, which must be as it is annotated."""
        items = _items(annotation)
        if items is None:
            if not isinstance(result, flow.Tensor):
                raise CallError(f"{self._name}: it returned a {type(result).__name__} where a tensor is annotated")
            yield result
            return
        if not isinstance(result, (tuple, list)) or len(result) != len(items):
            given = f"{len(result)} results" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
            raise CallError(f"{self._name}: it returned {given} where a tuple of {len(items)} is annotated")
        for item, each in zip(items, result):
            yield from self._flatten(item, each)


def _items(annotation: Any) -> tuple[Any, ...] | None:
    """What a tuple is annotated to hold; None if it is no tuple."""
    return typing.get_args(annotation) if typing.get_origin(annotation) is tuple else None


def _fill(annotation: Any, tensors: Iterator[Any]) -> Any:
    """Arrays of the tensors, arranged as is annotated."""
    items = _items(annotation)
    if items is not None:
        return tuple(_fill(item, tensors) for item in items)
    array: np.ndarray = next(tensors).numpy()
    return [array] if annotation is ListNumpy else array
