"""Run functions on NumPy arrays as graphs: ``flow.global_function``."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall
from pykernels.vendors.oneflow_legacy import results, variables
from pykernels.vendors.oneflow_legacy.graph import JobGraph, is_building
from pykernels.vendors.oneflow_legacy.typing import Placeholder, arranged, convert, placeholders

# A forked child process lacks the threads that run graphs.
_process = os.getpid()
_jobs: weakref.WeakSet[_Job] = weakref.WeakSet()
# Jobs share variables, and OneFlow builds one graph at a time.
_lock = threading.RLock()


def global_function(
    type: str | flow.FunctionConfig = "predict", function_config: flow.FunctionConfig | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a function of tensors into a job: a function of NumPy arrays that runs as a graph.

    Parameters
    ----------
    type : str
        ``"predict"`` or ``"train"``. A training job must call ``minimize`` of an optimizer, such as
        ``flow.optimizer.SGD``, with its loss.
    function_config : flow.FunctionConfig, optional
        The settings of the graph. They can also be the first argument.

    Returns
    -------
    callable
        The decorator. Each parameter of the decorated function must have a placeholder as its annotation or default, or
        a tuple of placeholders as its annotation. The annotation of the function's result determines what a call of the
        job returns. ``tp.Numpy`` and ``tp.ListNumpy``, or a tuple, list, dict or ``tp.Bundle`` of them, give the
        results in this structure. With ``tp.Callback``, the job returns a function that takes a callback and calls it
        with the results. Without an annotation, the job returns an object whose ``get()`` returns the results.

    Raises
    ------
    CallError
        An argument, or an annotation of the function, is wrong.

    Examples
    --------
    >>> @flow.global_function()
    ... def relu(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
    ...     return flow.relu(x)
    >>> y = relu(np.ones(5, np.float32))
    """
    if isinstance(type, flow.FunctionConfig):
        type, function_config = "predict", type
    if callable(type):
        raise CallError("@flow.global_function has to be called: @flow.global_function()")
    if type not in ("predict", "train"):
        raise CallError(f"flow.global_function(type={type!r}): the type of a job is 'predict' or 'train'")
    settings = _settings(function_config)

    def make_job(function: Callable[..., Any]) -> Callable[..., Any]:
        job = _Job(function, settings, training=type == "train")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return job(args, kwargs)

        return call

    return make_job


def make_jobs() -> None:
    """Build all jobs that have not been called yet, to create their variables."""
    with _lock:
        for job in list(_jobs):
            job.make()


def clear_default_session() -> None:
    """Discard all variables and graphs; jobs start afresh when they are called again."""
    with _lock:
        variables.clear()
        for job in _jobs:
            job.clear()
        _jobs.clear()


def _settings(config: flow.FunctionConfig | None) -> Any:
    """Return the settings of a `FunctionConfig` in the form that graphs use."""
    if config is None:
        config = flow.FunctionConfig()
    if not isinstance(config, flow.FunctionConfig):
        raise CallError(f"flow.global_function: function_config must be a flow.FunctionConfig, not {config!r}")
    description = config.function_desc
    defaults = vars(flow.FunctionConfig().function_desc.function_attribute)
    for name, value in vars(description.function_attribute).items():
        # The contexts of flow.scope are null contexts, which change nothing.
        if value != defaults[name] and not isinstance(value, contextlib.nullcontext):
            raise CallError(f"flow.global_function: function_config sets {name}, which is not supported")
    if description.job_config_proto.HasField("train_conf"):
        raise CallError(
            "flow.global_function: function_config sets train, which is not supported: @flow.global_function("
            "type='train') and an optimizer, flow.optimizer.SGD(...).minimize(loss), say the same"
        )
    return description.job_config_proto


class _Job:
    """A function and its graphs, one for each combination of input shapes."""

    def __init__(self, function: Callable[..., Any], settings: Any, *, training: bool) -> None:
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            raise CallError(f"@flow.global_function() makes a job of a function, not of {function!r}")
        self._name = f"{code.co_filename}:{code.co_firstlineno}: job {function.__name__}"
        self._function = function
        self._settings = settings
        self._training = training
        signature = inspect.signature(function, eval_str=True)
        parameters = [self._read_parameter(each) for each in signature.parameters.values()]
        self._signature = signature.replace(parameters=parameters)
        self._inputs: dict[str, Any] = {each.name: each.annotation for each in parameters}
        self._annotation = signature.return_annotation
        try:
            results.check(self._annotation)
        except CallError as error:
            raise CallError(f"{self._name}: {error}") from None
        self._graphs: dict[tuple[tuple[int, ...], ...], JobGraph] = {}
        self._has_run = False
        _jobs.add(self)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if os.getpid() != _process:
            raise RefusedCall(
                f"{self._name} cannot run in process {os.getpid()}, which was forked after OneFlow had been started in "
                f"process {_process}; start workers with the multiprocessing method 'spawn'"
            )
        if is_building():
            raise CallError(f"{self._name}: it is called in another job, where a plain function is needed")
        try:
            given = self._signature.bind(*args, **kwargs)
            given.apply_defaults()
            arrays = [
                array for name, each in self._inputs.items() for array in convert(each, given.arguments[name], name)
            ]
        except (TypeError, CallError) as error:
            raise CallError(f"{self._name}: {error}") from None
        tensors = [flow.tensor(array) for array in arrays]
        with _lock:
            _jobs.add(self)
            graph = self._graph(tensors)
            self._has_run = True
            return results.deliver(self._annotation, graph.run(tensors))

    def make(self) -> None:
        """Build the graph for the largest possible inputs, unless there is a graph already."""
        if not self._graphs:
            found = itertools.chain.from_iterable(map(placeholders, self._inputs.values()))
            self._graph([flow.tensor(np.zeros(each.shape, each.dtype)) for each in found])

    def clear(self) -> None:
        """Discard the graphs."""
        self._graphs.clear()
        self._has_run = False

    def _read_parameter(self, parameter: inspect.Parameter) -> inspect.Parameter:
        """Return the parameter with its placeholder as the annotation."""
        if isinstance(parameter.default, Placeholder):
            parameter = parameter.replace(annotation=parameter.default, default=parameter.empty)
        try:
            is_wrong = not [*placeholders(parameter.annotation)]
        except CallError:
            is_wrong = True
        if is_wrong or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise CallError(
                f"{self._name}: parameter '{parameter.name}' has to be annotated with a placeholder, as in "
                f"{parameter.name}: tp.Numpy.Placeholder((5,), dtype=flow.float32), or with a Tuple that has one for "
                f"each of its items"
            )
        return parameter

    def _graph(self, tensors: Sequence[flow.Tensor]) -> JobGraph:
        """Return the graph for inputs of these shapes; build it if necessary."""
        shapes = tuple([tuple(tensor.shape) for tensor in tensors])
        graph = self._graphs.get(shapes)
        if graph is not None:
            return graph
        if self._training and self._has_run:
            (known,) = self._graphs
            raise CallError(
                f"{self._name}: its inputs have shapes {shapes}, but it has been trained with {known}, for which the "
                f"state of its optimizer is; a job that trains takes inputs of one shape"
            )

        function, annotations = self._function, self._inputs

        def compute(*inputs: flow.Tensor) -> Any:
            values = iter(inputs)
            return function(**{name: arranged(each, values) for name, each in annotations.items()})

        graph = JobGraph(self._name, compute, self._annotation, training=self._training, settings=self._settings)
        try:
            graph.make(tensors)
        except BaseException:
            variables.forget(graph.created)
            raise
        # A graph that was built only to create its variables has no state yet, so it can go.
        if not self._has_run:
            self._graphs.clear()
        self._graphs[shapes] = graph
        return graph
