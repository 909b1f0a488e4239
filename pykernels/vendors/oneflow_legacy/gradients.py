"""Collect the gradients of tensors that OneFlow reports during a run, and pass them to watchers after the run."""

from __future__ import annotations

import functools
import importlib
import queue
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import oneflow as flow
from oneflow.framework import c_api_util

from pykernels.base.errors import CallError
from pykernels.frameworks.oneflow.plugin import report_tensors

# The reports of OneFlow since the run began, by the name of the watcher: arrays, or exceptions.
_reports: dict[str, queue.SimpleQueue[np.ndarray | Exception]] = {}
# How long a gradient may take after everything that can be waited for has finished.
_SECONDS = 60


class Gradients:
    """The gradients that a job watches."""

    def __init__(self) -> None:
        self._watchers: dict[str, Callable[[np.ndarray], None]] = {}

    def add(self, tensor: flow.Tensor, watcher: Callable[[np.ndarray], None]) -> None:
        """Watch the gradient of `tensor`; call this while the graph is being built.

        Raise CallError if this version of OneFlow does not report gradients.
        """
        _listen()
        # OneFlow exposes its name for the tensor only as the name of an op's input.
        flow._C.identity(tensor)
        op, _, output = c_api_util.GetCurrentJob().net.op[-1].user_conf.input["in"].s[0].partition("/")
        name = uuid.uuid4().hex
        # Imported here because OneFlow 0.9 lacks this module.
        pair = importlib.import_module("oneflow.core.job.lbi_diff_watcher_info_pb2").LbiAndDiffWatcherUuidPair()
        pair.lbi.op_name, pair.lbi.blob_name, pair.watcher_uuid = op, output, name
        c_api_util.CurJobBuildAndInferCtx_AddLbiAndDiffWatcherUuidPair(pair)
        self._watchers[name] = watcher
        _reports[name] = queue.SimpleQueue()

    def check(self, job: Any) -> None:
        """Raise CallError unless the compiled job computes all watched gradients."""
        if not self._watchers:  # always the case with OneFlow 0.9, whose jobs have no such ops
            return
        reported = {op.foreign_watch_conf.handler_uuid for op in job.net.op if op.HasField("foreign_watch_conf")}
        if not reported.issuperset(self._watchers):
            raise CallError(
                "flow.watch_diff: the tensor has no gradient: the loss does not depend on it, or it does not depend on "
                "a trainable variable"
            )

    def begin(self) -> None:
        """Discard the gradients that a failed run has reported."""
        for name in self._watchers:
            _reports[name] = queue.SimpleQueue()

    def hand_out(self) -> None:
        """Pass the gradients of the finished run to the watchers."""
        for name, watcher in self._watchers.items():
            array = _reports[name].get(timeout=_SECONDS)
            if isinstance(array, Exception):
                raise array
            watcher(array)


def _report(name: bytes, blob: int) -> None:
    try:
        result = importlib.import_module("oneflow.framework.ofblob").OfBlob(blob).CopyToNdarray()
    except Exception as error:  # raised on a thread of OneFlow, so that `hand_out` has to raise it
        result = error
    _reports[name.decode()].put(result)


@functools.cache  # once per process
def _listen() -> None:
    if not report_tensors(_report):
        raise CallError("flow.watch_diff: this version of OneFlow does not report gradients in graphs; 0.8.0 does")
