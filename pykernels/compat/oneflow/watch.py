"""``flow.watch``: the numbers of a tensor in a job, each time that it has run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.compat.oneflow import results
from pykernels.compat.oneflow.graph import building
from pykernels.errors import CallError

__all__ = ["watch"]


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
    graph = building("flow.watch")
    if not isinstance(blob_watched, flow.Tensor):
        raise CallError(f"flow.watch takes a tensor of the job, not {blob_watched!r}")
    if not callable(handler_or_prompt):
        prompt = handler_or_prompt

        def show(array: np.ndarray) -> None:
            print(*([] if prompt is None else [prompt]), array, sep="\n")

        graph.watch(blob_watched, show)
        return
    handler = handler_or_prompt
    parameters = list(inspect.signature(handler, eval_str=True).parameters.values())
    if len(parameters) != 1:
        raise CallError(f"flow.watch takes a function of one parameter, not of {len(parameters)}")
    annotation = parameters[0].annotation
    results.check(annotation)
    graph.watch(blob_watched, lambda array: handler(results.convert(array, annotation)))
