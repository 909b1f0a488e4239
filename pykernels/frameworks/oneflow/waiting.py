"""Replace OneFlow's functions that wait for results: they raise the failures of kernels and refuse deadlocks.

OneFlow runs ops after their calls have returned, and ends the process if one raises an error. So kernels store their
errors, and the replaced functions raise them.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import os
import queue
import sys
import warnings
from collections.abc import Callable
from typing import Any

from pykernels.base import fork
from pykernels.base.errors import KernelError, PykernelsWarning
from pykernels.base.refusals import FailedKernel, RefusedCall


def install(take_failures: Callable[[], str | None], is_worker: Callable[[], bool]) -> None:
    """Replace OneFlow's functions that wait, once for a process.

    Parameters
    ----------
    take_failures : callable
        Returns the failures of kernels since its last call, or None.
    is_worker : callable
        Whether OneFlow waits for what runs on this thread.
    """
    flow = importlib.import_module("oneflow")
    internal = importlib.import_module("oneflow._oneflow_internal")

    delete_kept = _delete_in_time(flow.nn.Graph, is_worker)

    def finish() -> None:
        delete_kept()
        text = take_failures()
        if text is not None:
            raise FailedKernel(text)

    # All functions that show or read the numbers of a tensor copy them with one of these.
    for name in ("item", "to_numpy", *(name for name in dir(flow.Tensor) if name.startswith("_copy_to_numpy_"))):
        setattr(flow.Tensor, name, _waiting(getattr(flow.Tensor, name), finish))
    synchronize = internal.eager.Sync
    internal.eager.Sync = _waiting(synchronize, finish)
    graphs = internal.nn.graph
    graphs.RunLazyNNGraph = _of_this_process(graphs.RunLazyNNGraph)
    graphs.CNNGraph.complie_and_init_runtime = _of_this_process(graphs.CNNGraph.complie_and_init_runtime)

    process = os.getpid()

    def drain() -> None:
        if os.getpid() == process:  # in a child OneFlow runs every op at once
            synchronize()
            delete_kept()
        text = take_failures()
        if text is not None:
            # Warn, since taking a failure removes it and no later wait reports it.
            warnings.warn(
                f"an op of OneFlow failed before anyone waited for it: {text}", PykernelsWarning, stacklevel=2
            )

    # Again after the wait for threads that build: they may have called ops meanwhile.
    fork.before_fork(drain, stop=drain)
    # Wait while the interpreter is alive, since kernels may need it.
    atexit.register(drain)


def _waiting(function: Callable[..., Any], finish: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wait(*args: Any) -> Any:
        if fork.is_forbidden():
            raise KernelError(
                f"{function.__name__} in a kernel: it waits for OneFlow, which waits for the kernel. Kernels are plain "
                "NumPy code"
            )
        result = function(*args)
        # A graph waits when it is deleted, and Python drops exceptions there.
        if sys._getframe(1).f_code.co_name != "__del__":
            finish()
        return result

    return wait


def _delete_in_time(graphs: Any, is_worker: Callable[[], bool]) -> Callable[[], None]:
    """Defer the deletion of graphs where it does harm, and return a function that deletes the deferred ones.

    Python collects garbage on any thread at any time. A graph waits for OneFlow when it is deleted, so a thread that
    runs a kernel must not delete it. Deleting a graph also drops the variables of a graph that is being compiled.
    """
    delete, compile_graph = graphs.__del__, graphs._compile
    kept: queue.SimpleQueue[Any] = queue.SimpleQueue()  # made for finalizers
    compiled: list[Any] = []

    @functools.wraps(delete)
    def keep_or_delete(graph: Any) -> None:
        if compiled or is_worker():
            kept.put(graph)
        else:
            delete(graph)

    @functools.wraps(compile_graph)
    def compile_undisturbed(graph: Any, *args: Any, **keywords: Any) -> Any:
        compiled.append(graph)
        try:
            return compile_graph(graph, *args, **keywords)
        finally:
            compiled.remove(graph)

    def delete_kept() -> None:
        with contextlib.suppress(queue.Empty):
            while not (compiled or is_worker()):
                # Python does not call a finalizer twice.
                delete(kept.get_nowait())

    graphs.__del__, graphs._compile = keep_or_delete, compile_undisturbed
    return delete_kept


def _of_this_process(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run`, restricted to this process: a forked child lacks the threads of graphs."""
    process = os.getpid()

    @functools.wraps(run)
    def run_here(*args: Any) -> Any:
        if os.getpid() != process:
            raise RefusedCall(
                f"a graph cannot run in process {os.getpid()}, which was forked after OneFlow had been started in "
                f"process {process}: the threads that run graphs are missing here. Start workers with the "
                "multiprocessing method 'spawn', or call the module without nn.Graph in them"
            )
        return run(*args)

    return run_here
