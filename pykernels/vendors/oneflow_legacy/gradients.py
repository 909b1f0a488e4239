"""Gradients of tensors in jobs: OneFlow tells them while the job runs, and they are handed out when it has run."""

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
from pykernels.frameworks.oneflow.plugin import tell_tensors

__all__ = ["Gradients"]

# By the name of the watcher, what OneFlow has told since the run began: arrays, or why there is none.
_told: dict[str, queue.SimpleQueue[np.ndarray | Exception]] = {}
# How long a gradient may take after everything that can be waited for is there.
_SECONDS = 60


class Gradients:
    """The gradients that a job has asked for."""

    def __init__(self) -> None:
        self._watchers: dict[str, Callable[[np.ndarray], None]] = {}

    def add(self, tensor: flow.Tensor, watcher: Callable[[np.ndarray], None]) -> None:
        """Ask for that of `tensor`, while the graph is being built.

        Raises
        ------
        CallError
            OneFlow is of a version that tells no gradients.
        """
        _listen()
        # The name that OneFlow has for the tensor is that of the input of an op.
        flow._C.identity(tensor)
        op, _, output = c_api_util.GetCurrentJob().net.op[-1].user_conf.input["in"].s[0].partition("/")
        name = uuid.uuid4().hex
        # Not above: OneFlow 0.9 has neither.
        pair = importlib.import_module("oneflow.core.job.lbi_diff_watcher_info_pb2").LbiAndDiffWatcherUuidPair()
        pair.lbi.op_name, pair.lbi.blob_name, pair.watcher_uuid = op, output, name
        c_api_util.CurJobBuildAndInferCtx_AddLbiAndDiffWatcherUuidPair(pair)
        self._watchers[name] = watcher
        _told[name] = queue.SimpleQueue()

    def check(self, job: Any) -> None:
        """Check that the compiled job computes them all.

        Raises
        ------
        CallError
            It does not.
        """
        if not self._watchers:  # as always with OneFlow 0.9, whose jobs have no such ops
            return
        told = {op.foreign_watch_conf.handler_uuid for op in job.net.op if op.HasField("foreign_watch_conf")}
        if not told.issuperset(self._watchers):
            raise CallError(
                "flow.watch_diff: the tensor has no gradient: the loss does not depend on it, or it does not depend on "
                "a trainable variable"
            )

    def begin(self) -> None:
        """Forget what a run has told that failed."""
        for name in self._watchers:
            _told[name] = queue.SimpleQueue()

    def hand_out(self) -> None:
        """Hand those of the run that has ended to those who have asked."""
        for name, watcher in self._watchers.items():
            array = _told[name].get(timeout=_SECONDS)
            if isinstance(array, Exception):
                raise array
            watcher(array)


def _tell(name: bytes, blob: int) -> None:
    try:
        result = importlib.import_module("oneflow.framework.ofblob").OfBlob(blob).CopyToNdarray()
    except Exception as error:  # on a thread of OneFlow's
        result = error
    _told[name.decode()].put(result)


@functools.cache  # once for a process
def _listen() -> None:
    if not tell_tensors(_tell):
        raise CallError("flow.watch_diff: this version of OneFlow tells nobody of gradients in graphs; 0.8.0 does")
