"""Settings: ``flow.config``, what jobs may use, which is the CPU of one machine; and those of a single job."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow.framework import session_context

from pykernels.base.errors import CallError, PykernelsWarning
from pykernels.vendors.oneflow_legacy.missing import missing

__all__ = ["Config", "enable_eager_execution", "find_setting"]

#: The settings that must be right, and what is.
_FIXED = {"machine_num": 1, "cpu_device_num": 1, "gpu_device_num": 0}
#: Those that change no result. Scripts have the first one as a matter of course, so it has no warning.
_HARMLESS = (
    "enable_legacy_model_io",
    "enable_debug_mode",
    "save_downloaded_file_to_local_fs",
    "compute_thread_pool_size",
    "comm_net_worker_num",
    "max_mdsave_worker_num",
    "reserved_host_mem_mbyte",
    "reserved_device_mem_mbyte",
    "rdma_mem_block_mbyte",
    "rdma_recv_msg_buf_mbyte",
    "use_rdma",
)
_missing = missing("flow.config", [*_FIXED, *_HARMLESS])


class Config:
    """Accepts the settings that say what is so anyway or change no result, and refuses every other one by its name."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name in _FIXED:
            return functools.partial(_check, name)
        if name in _HARMLESS:
            return functools.partial(_ignore, name)
        raise _missing(name)


def _check(name: str, value: Any) -> None:
    if value != _FIXED[name]:
        raise CallError(
            f"flow.config.{name}({value!r}): ops run on the CPU of one machine, flow.config.{name}({_FIXED[name]})"
        )


def _ignore(name: str, value: Any = True) -> None:
    if name != _HARMLESS[0]:
        text = f"flow.config.{name}({value!r}) has no effect: OneFlow sets it itself"
        warnings.warn(text, PykernelsWarning, stacklevel=2)


def enable_eager_execution(val: bool = True) -> None:
    """``flow.enable_eager_execution``: has no effect, except for a warning.

    What is called outside of jobs runs at once anyway; jobs run as graphs, with the same results.
    """
    if val:
        text = "flow.enable_eager_execution() has no effect: jobs run as graphs, and what is outside of them at once"
        warnings.warn(text, PykernelsWarning, stacklevel=2)


def find_setting(config: flow.FunctionConfig, name: str) -> Any:
    """What ``flow.FunctionConfig`` looks its settings up with, which itself has a bare `AssertionError` for others.

    Raises
    ------
    CallError
        There is no such setting; the message tells which there are.
    """
    try:
        return object.__getattribute__(config, name)
    except AttributeError:
        flags = session_context.GetDefaultSession().function_flag_name2default_val
        if name in flags or name.startswith("__"):
            raise
        known = sorted(each for each in {*flags, *dir(flow.FunctionConfig)} if not each.startswith("_"))
        raise CallError(f"flow.FunctionConfig has no setting {name!r}; it has {', '.join(known)}") from None
