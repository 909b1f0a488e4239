"""Run a kernel as Python behind the same C ABI as a compiled one."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pykernels.base import abi, fork
from pykernels.base.errors import KernelError
from pykernels.kernel import reference
from pykernels.kernel.read.signature import Signature, TensorType, group_shapes
from pykernels.kernel.read.source import KernelFunction

# The message of the last kernel that failed in each thread; the ABI only has room for a status. The key is the thread's
# id, since a framework's thread loses Python's thread-local data between callbacks.
_failures: dict[int, str] = {}


def wrap(kernel: KernelFunction, op_name: str, signature: Signature, output_names: Sequence[str]) -> Any:
    """Return a function of the kernel ABI (``abi.KernelFn``) that runs `kernel` as plain Python, under the GIL."""

    def entry(struct: Any, data: Any, dims: Any, scalars: Any, begin: int, end: int, detail: Any) -> int:
        try:
            args, outs, keywords = read_arguments(signature, data, dims, scalars)
            with fork.forbidden():
                reference.run(kernel, op_name, args, outs, output_names, keywords, signature.mutable)
        except KernelError as error:
            _failures[threading.get_ident()] = str(error)
            return abi.Status.RAISED
        except BaseException as error:
            # No exception, not even an interrupt, may pass through a framework's C frames.
            _failures[threading.get_ident()] = reference.failure_text(kernel, op_name, error)
            return abi.Status.RAISED
        return abi.Status.OK

    return abi.KernelFn(entry)


def take_failure() -> str | None:
    """Return why the last Python kernel of this thread failed, and forget it."""
    return _failures.pop(threading.get_ident(), None)


def read_arguments(
    signature: Signature, data: Any, dims: Any, scalars: int | None
) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """Return ``args``, ``outs`` and keywords for the kernel ABI's arguments; the arrays share their memory."""
    arrays = _arrays(signature.tensors, data, dims)
    args = group_shapes(signature.inputs, arrays)
    outs = group_shapes(signature.outputs, arrays)
    keywords = dict(signature.constants)
    for slot, (name, _) in enumerate(signature.scalars):
        kind = ctypes.c_double if name in signature.reals else ctypes.c_int64
        assert scalars is not None
        value = kind.from_address(scalars + 8 * slot).value
        keywords[name] = bool(value) if name in signature.flags else value
    return args, outs, keywords


def _arrays(tensors: Sequence[TensorType], data: Any, dims: Any) -> Iterator[np.ndarray]:
    at = 0
    for position, tensor in enumerate(tensors):
        shape = tuple(dims[at : at + tensor.ndim])
        at += tensor.ndim
        size = math.prod(shape) * tensor.dtype.itemsize
        if size == 0:
            yield np.empty(shape, tensor.dtype)
            continue
        buffer = (ctypes.c_char * size).from_address(data[position])
        yield np.frombuffer(buffer, tensor.dtype).reshape(shape)
