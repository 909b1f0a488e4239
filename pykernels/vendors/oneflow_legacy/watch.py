"""Watch a tensor of a job, or its gradient, after each run: ``flow.watch`` and ``flow.watch_diff``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy import results
from pykernels.vendors.oneflow_legacy.graph import building


def watch(blob_watched: flow.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """Pass the values of a tensor to a function, or print them, after each run of the job.

    Parameters
    ----------
    blob_watched : Tensor
    handler_or_prompt : callable or str, optional
        A function of one parameter, which may be annotated with ``tp.Numpy`` or ``tp.ListNumpy``, or the text to print
        before the values.

    Raises
    ------
    CallError
        No job is running, or an argument is wrong.
    """
    building("flow.watch").watch(blob_watched, _reader("flow.watch", blob_watched, handler_or_prompt))


def watch_diff(blob_watched: flow.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """Watch the gradient of a training job's losses with respect to a tensor; for the arguments, see `watch`.

    The gradient is that of the sum of all elements of the losses. OneFlow divides it by their number when it updates
    variables.

    Raises
    ------
    CallError
        As for `watch`. In addition, the job does not train, the tensor has no gradient, or OneFlow is not version 0.8.
    """
    graph = building("flow.watch_diff")
    graph.watch_gradient(blob_watched, _reader("flow.watch_diff", blob_watched, handler_or_prompt))


def _reader(name: str, blob: Any, handler_or_prompt: Callable[[Any], Any] | str | None) -> Callable[[np.ndarray], Any]:
    if not isinstance(blob, flow.Tensor):
        raise CallError(f"{name} takes a tensor of the job, not {blob!r}")
    if not callable(handler_or_prompt):
        prompt = handler_or_prompt
        return lambda array: print(*([] if prompt is None else [prompt]), array, sep="\n")
    handler = handler_or_prompt
    parameters = list(inspect.signature(handler, eval_str=True).parameters.values())
    if len(parameters) != 1:
        raise CallError(f"{name} takes a function of one parameter, not of {len(parameters)}")
    annotation = parameters[0].annotation
    results.check(annotation)
    return lambda array: handler(results.convert(array, annotation))
