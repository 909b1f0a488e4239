"""``flow.config``: what a job may use, which is the CPU of one machine."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from pykernels.compat.oneflow.missing import missing
from pykernels.errors import CallError, PykernelsWarning

__all__ = ["Config"]

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
