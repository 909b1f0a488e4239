"""Check the settings of all jobs (``flow.config``) and of a single job (``flow.FunctionConfig``)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow.framework import session_context

from pykernels.base.errors import CallError, PykernelsWarning
from pykernels.vendors.providing import missing

#: The settings that must have a certain value: jobs run on the CPU of one machine.
_FIXED = {"machine_num": 1, "cpu_device_num": 1, "gpu_device_num": 0}
#: The settings that do not affect results. Most scripts use the first one, so it causes no warning.
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
_missing = missing("flow.config", [*_FIXED, *_HARMLESS], __name__)


class Config:
    """The object ``flow.config``, which accepts settings that hold anyway or do not affect results, but no others."""

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
    """Warn that ``flow.enable_eager_execution`` has no effect.

    Ops outside of jobs run eagerly anyway. Jobs run as graphs, with the same results.
    """
    if val:
        text = "flow.enable_eager_execution() has no effect: jobs run as graphs, and all other ops run at once"
        warnings.warn(text, PykernelsWarning, stacklevel=2)


def find_setting(config: flow.FunctionConfig, name: str) -> Any:
    """Return a setting of a ``flow.FunctionConfig``, or raise CallError in place of OneFlow's bare `AssertionError`."""
    try:
        return object.__getattribute__(config, name)
    except AttributeError:
        flags = session_context.GetDefaultSession().function_flag_name2default_val
        if name in flags or name.startswith("__"):
            raise
        known = sorted(each for each in {*flags, *dir(flow.FunctionConfig)} if not each.startswith("_"))
        raise CallError(f"flow.FunctionConfig has no setting {name!r}; it has {', '.join(known)}") from None
