"""Callbacks of the registrars: resolve a kernel, explain a failure."""

from __future__ import annotations

import copy
import ctypes
import functools
import itertools
import warnings
from typing import Any

from pykernels.base import abi, callbacks, locks, settings
from pykernels.base.errors import KernelError, PykernelsWarning
from pykernels.define.definition import OpDef
from pykernels.define.instance import new_outputs, read_tensors
from pykernels.kernel import python_calls, python_form, reference
from pykernels.kernel.build import BuiltKernel, build_kernel
from pykernels.kernel.numba.compiler_locks import locks_of_compilers
from pykernels.kernel.read.signature import Signature, leaves, read_shapes, signature_of
from pykernels.kernel.read.source import KernelFunction

_kernel_ids = itertools.count(1)
_ops: dict[int, tuple[OpDef, KernelFunction]] = {}
# The kernels of each signature: one for any values of its scalars, or several that are specialized on values.
_built: dict[tuple[int, Signature], list[BuiltKernel]] = {}
_by_address: dict[int, BuiltKernel] = {}


# Prevents two threads from compiling the same kernel.
_lock = locks.Lock("building kernels", locks_of_compilers)


def enter(op: OpDef, function: KernelFunction) -> int:
    """Add an op and its kernel, and return the kernel's id, by which registrars resolve it; ids are never reused."""
    kernel_id = next(_kernel_ids)
    _ops[kernel_id] = (op, function)
    return kernel_id


def resolve(kernel_id: int, instance: abi.Instance) -> BuiltKernel:
    """Return the kernel of an op for the dtypes, ranks and attributes of `instance`; it lives as long as the process.

    Raises
    ------
    PykernelsError
        There is none; the message says why.
    """
    op, function = _ops[kernel_id]
    given = signature_of(op, function, instance)
    values = {name: abi.decode_attr(instance.attrs[at]) for name, at in given.scalars if at >= 0}
    with _lock:
        built = _built.setdefault((kernel_id, given), [])
        for kernel in built:
            if kernel.signature.serves(values):
                return kernel
        names = output_names(op, instance)
        kernel = build_kernel(function, op.name, given, names, read_shapes(instance), values)
        built.append(kernel)
        _by_address[ctypes.addressof(kernel.struct)] = kernel
    return kernel


def output_names(op: OpDef, instance: abi.Instance) -> list[str]:
    """Return the names of a kernel's outputs for messages."""
    repeated = {argument.name for argument in op.outputs if argument.repeated}
    named = [(tensor.argument.decode(), tensor.index) for tensor in instance.outputs[: instance.n_outputs]]
    return [f"{name}[{index}]" if name in repeated else name for name, index in named]


@functools.lru_cache(maxsize=1)
def services() -> abi.Services:
    """Return the callbacks for the C++ of registrars."""
    return abi.Services(abi.ResolveFn(_resolve), abi.ExplainFn(_explain))


def _resolve(kernel_id: int, instance: Any, error: int, size: int) -> int | None:
    try:
        view, (op, _) = instance.contents, _ops[kernel_id]
        # Report an error if the outputs do not fit in memory: OneFlow ends the process when it cannot allocate them.
        new_outputs(op, read_tensors(op.outputs, view.outputs[: view.n_outputs]))
        return ctypes.addressof(resolve(kernel_id, view).struct)
    except BaseException as problem:
        # No exception may pass through the registrar's C++ frames.
        callbacks.write_text(error, size, callbacks.text_of(problem))
    return None


def explain(kernel: BuiltKernel, status: int, data: Any, dims: Any, scalars: int | None, detail: Any) -> str:
    """Return why a kernel that was called with these arguments of the ABI returned `status`.

    After an exception in compiled code, run plain NumPy on the same inputs. It raises the same exception with its text
    and line; or it computes the outputs, and there is no text.
    """
    function, name = kernel.function, kernel.op_name
    failure = python_form.take_failure()
    if kernel.facts.python_calls:
        failure = python_calls.take_failure(function, name) or failure
    if failure or kernel.reason:
        return failure or f"op {name!r}: {function.where}: {function.name} failed"
    args, outs, keywords = python_form.read_arguments(kernel.signature, data, dims, scalars)
    mutable = kernel.signature.mutable
    args = tuple(copy.deepcopy(group) if at in mutable else group for at, group in enumerate(args))
    try:
        reference.run(function, name, args, outs, kernel.output_names, keywords, mutable)
    except KernelError as error:
        return str(error)
    if status == abi.Status.WRONG_SHAPE:
        output, shape = int(detail[0]), tuple(detail[2 : 2 + detail[1]])
        wanted = leaves(outs)[output].shape
        problem = reference.wrong_shape_text(function, name, kernel.output_names[output], shape, wanted)
    else:
        problem = (
            f"op {name!r}: {function.where}: {function.name} raised an exception in compiled code that its plain NumPy "
            f"run does not raise (an index past the end of an array, a variable without a value, a number of axes that "
            f"depends on lengths, whole numbers of more than 64 bits or that a dtype cannot hold, or out of memory)"
        )
    # The kernel may have changed an input before it failed.
    if mutable or settings.must_be_compiled():
        return problem
    if not kernel.is_slow_told:
        kernel.is_slow_told = True
        warnings.warn(f"{problem}. Such calls run as Python, too, which is slower", PykernelsWarning, stacklevel=2)
    return ""


def _explain(
    kernel: Any,
    instance: Any,
    status: int,
    data: Any,
    dims: Any,
    scalars: int | None,
    detail: Any,
    text: int,
    size: int,
) -> None:
    try:
        message = explain(_by_address[ctypes.addressof(kernel.contents)], status, data, dims, scalars, detail)
    except BaseException as problem:
        message = f"the kernel failed, and so did asking why: {type(problem).__name__}: {problem}"
    callbacks.write_text(text, size, message)
