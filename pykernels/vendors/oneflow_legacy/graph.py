"""Build the graph of a job, with the variables, losses and watches for which the job's function asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import oneflow as flow
from oneflow.framework import c_api_util, graph_build_util
from oneflow.framework.tensor_tuple_util import convert_to_tensor_tuple
from oneflow.nn.graph.optimizer import VariableConfig

from pykernels.base.errors import CallError
from pykernels.frameworks.oneflow.plugin import prepare
from pykernels.vendors.oneflow_legacy.gradients import Gradients
from pykernels.vendors.oneflow_legacy.results import Outputs, arrange

_thread = threading.local()


def is_building() -> bool:
    """Return whether this thread is running the function of a job to build its graph."""
    return getattr(_thread, "graph", None) is not None


def building(name: str) -> JobGraph:
    """Return the graph of the job whose function is running; CallError, with the caller's name, if there is none."""
    if not is_building():
        raise CallError(f"{name} is called outside of a job: call it in a function under @flow.global_function()")
    graph: JobGraph = _thread.graph
    return graph


class JobGraph(flow.nn.Graph):  # type: ignore[misc]
    """The graph of a job for inputs of certain shapes.

    The `function` of the job takes tensors, and `annotation` is that of its result. Error messages begin with `where`,
    the job's name and location. The `settings` are a ``JobConfigProto``.
    """

    def __init__(
        self, where: str, function: Callable[..., Any], annotation: Any, *, training: bool, settings: Any
    ) -> None:
        super().__init__()
        self._where = where
        # A merge keeps what the graph itself has set.
        self.config.proto.MergeFrom(settings)
        self.config._train(training)
        self._function = function
        self._annotation = annotation
        self._arrangement: Any = None
        self._names: list[str] = []
        self._states: list[flow.Tensor] = []
        self._variables: dict[str, flow.Tensor] = {}
        self._trainable: list[str] = []
        self._losses: list[flow.Tensor] = []
        self._optimizer: Callable[[list[str]], Any] | None = None
        self._watched: list[tuple[flow.Tensor, Callable[[np.ndarray], None]]] = []
        self._gradients = Gradients()
        #: The names of the variables that did not exist before.
        self.created: list[str] = []

    def run(self, inputs: Sequence[flow.Tensor]) -> Outputs:
        """Run the job, call the watchers and return the outputs."""
        self._gradients.begin()
        tensors = self(*inputs)
        count = len(tensors) - len(self._watched)
        for (_, watcher), tensor in zip(self._watched, tensors[count:]):
            watcher(tensor.numpy())
        self._gradients.hand_out()
        return Outputs(self._arrangement, tensors[:count], self._wait)

    def make(self, inputs: Sequence[flow.Tensor]) -> None:
        """Build the graph for inputs of these shapes and dtypes."""
        prepare()
        self._compile(*inputs)
        try:
            self._gradients.check(self._compiled_job_proto)
        except CallError as error:
            raise CallError(f"{self._where}: {error}") from None

    def variable(self, name: str) -> flow.Tensor | None:
        """Return the variable with this name if the function has asked for it before, otherwise None."""
        return self._variables.get(name)

    def add_variable(self, name: str, value: flow.Tensor, *, trainable: bool, l2: float) -> flow.Tensor:
        """Add a tensor to the graph as a variable, with the factor `l2` of its L2 regularization.

        The optimizer of this job updates the variable if it is `trainable`.
        """
        settings = VariableConfig(name)
        settings.l2 = l2
        # Another job may have set this differently.
        value.requires_grad_(trainable)
        self._variables[name] = graph_build_util.build_graph_state(name, value, settings)
        self._names.append(name)
        self._states.append(value)
        if trainable:
            self._trainable.append(name)
        return self._variables[name]

    def minimize(self, losses: Sequence[flow.Tensor], optimizer: Callable[[list[str]], Any]) -> None:
        """Minimize the sum of the means of losses with an optimizer: a function of the trainable variables' names.

        The function returns the ``TrainConf``. Raise CallError if the job does not train, has an optimizer already, or
        `losses` are not losses of this job.
        """
        if not self.training:
            raise CallError("minimize() is called in a job that does not train: @flow.global_function(type='train')")
        if self._optimizer is not None:
            raise CallError("minimize() is called twice in one job; give it several losses as a list")
        kinds = {(str(loss.dtype), tuple(loss.shape)) for loss in losses if isinstance(loss, flow.Tensor)}
        if not (losses and all(isinstance(loss, flow.Tensor) and loss.is_lazy for loss in losses) and len(kinds) == 1):
            given = ", ".join(map(_describe, losses)) or "none"
            raise CallError(f"minimize() takes a loss of this job, or several of one shape and dtype, not {given}")
        self._optimizer = optimizer
        self._losses = list(losses)

    def watch(self, tensor: flow.Tensor, watcher: Callable[[np.ndarray], None]) -> None:
        """Call `watcher` with the values of a tensor after each run of the job."""
        self._watched.append((tensor, watcher))

    def watch_gradient(self, tensor: flow.Tensor, watcher: Callable[[np.ndarray], None]) -> None:
        """Call `watcher` with the gradient of the losses with respect to a tensor after each run of the job.

        Raise CallError if the job does not train, or if this version of OneFlow does not report gradients.
        """
        if not self.training:
            raise CallError(
                "flow.watch_diff is called in a job that does not train: flow.global_function(type='train')"
            )
        self._gradients.add(tensor, watcher)

    def build(self, *tensors: flow.Tensor) -> list[flow.Tensor]:
        """Run the job's function, so that OneFlow records its ops, and return the outputs and the watched tensors."""
        _thread.graph = self
        try:
            result = self._function(*tensors)
        finally:
            _thread.graph = None
        outputs: list[flow.Tensor] = []
        try:
            self._arrangement = arrange(self._annotation, result, outputs)
            if self.training:
                self._train()
        except CallError as error:
            raise CallError(f"{self._where}: {error}") from None
        self._state_tensor_tuple = convert_to_tensor_tuple(self._states)
        return outputs + [tensor for tensor, _ in self._watched]

    def _filter_states(self) -> list[str]:
        # OneFlow calls this before it builds the graph, and reads the returned list afterwards.
        self._state_tensor_tuple = convert_to_tensor_tuple([])
        return self._names

    def _train(self) -> None:
        if self._optimizer is None:
            raise CallError(
                "it is of type 'train', but minimizes nothing: flow.optimizer.SGD(...).minimize(loss), or "
                "@flow.global_function(type='predict')"
            )
        c_api_util.CurJobBuildAndInferCtx_SetTrainConf(self._optimizer(self._trainable))
        for loss in self._losses:
            flow._oneflow_internal.nn.graph.AddTensorAsGraphLoss(loss)
        job = c_api_util.GetCurrentJob()
        # OneFlow terminates the process if a loss depends on no variable.
        for name in job.job_conf.train_conf.loss_lbn:
            if not _needs(job, name.split("/")[0], set(self._trainable)):
                raise CallError("the loss that it minimizes depends on no trainable variable: flow.get_variable(...)")

    def _wait(self) -> None:
        # The results are available before the gradients, but reading a variable waits for the whole run.
        if self._states:
            min(self._states, key=flow.Tensor.numel).numpy()
        else:
            flow._oneflow_internal.eager.Sync()


def _describe(loss: Any) -> str:
    # Tensors from outside a job cannot be printed inside it.
    if not isinstance(loss, flow.Tensor):
        return repr(loss)
    return f"{loss.dtype}{tuple(loss.shape)}" + ("" if loss.is_lazy else " from outside of it")


def _needs(job: Any, op: str, variables: set[str]) -> bool:
    """Return whether an op of the job depends on one of the variables, directly or indirectly."""
    inputs = {
        each.name: [name.split("/")[0] for blobs in each.user_conf.input.values() for name in blobs.s]
        for each in job.net.op
    }
    seen, pending = {op}, [op]
    while pending:
        name = pending.pop()
        if name in variables:
            return True
        new = set(inputs.get(name, ())) - seen
        seen |= new
        pending += new
    return False
