"""``flow.watch`` and ``flow.watch_diff``: a tensor in a job, or its gradient, each time that the job has run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy import results
from pykernels.vendors.oneflow_legacy.graph import building

__all__ = ["watch", "watch_diff"]


def watch(blob_watched: flow.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """Have the numbers of a tensor handed to a function, or printed, each time that the job has run.

    Parameters
    ----------
    blob_watched : Tensor
    handler_or_prompt : callable or str, optional
        A function of one parameter, which may be annotated with ``tp.Numpy`` or ``tp.ListNumpy``; or what to print
        before the numbers.

    Raises
    ------
    CallError
        It is called outside of a job, or with something else.
    """
    building("flow.watch").watch(blob_watched, _reader("flow.watch", blob_watched, handler_or_prompt))


def watch_diff(blob_watched: flow.Tensor, handler_or_prompt: Callable[[Any], Any] | str | None = None) -> None:
    """As `watch`, for the gradient by a tensor of the sum of all elements of what a job that trains minimizes.

    OneFlow divides by their number when it changes variables.

    Raises
    ------
    CallError
        As for `watch`; or the job does not train, the tensor has no gradient, or OneFlow is not 0.8.
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
