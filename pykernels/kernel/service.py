"""Callbacks of the registrars: resolve a kernel, explain a failure."""

from __future__ import annotations

import copy
import ctypes
import functools
import itertools
import sys
from collections.abc import Iterator
from typing import Any

from pykernels.base import abi, callbacks, locks
from pykernels.base.errors import KernelError
from pykernels.define.definition import OpDef
from pykernels.define.instance import new_outputs, read_tensors
from pykernels.kernel import python_form, reference
from pykernels.kernel.build import BuiltKernel, build_kernel
from pykernels.kernel.read.signature import Signature, read_shapes, signature_of
from pykernels.kernel.read.source import KernelFunction

__all__ = ["enter", "output_names", "resolve", "services"]

_numbers = itertools.count(1)
_ops: dict[int, tuple[OpDef, KernelFunction]] = {}
_built: dict[tuple[int, Signature], BuiltKernel] = {}
# The attributes whose values the kernel of a signature has compiled in, where it would have them at run time.
_fixed: dict[tuple[int, Signature], tuple[str, ...]] = {}
_by_id: dict[int, BuiltKernel] = {}


def _locks_of_compilers() -> Iterator[Any]:
    """Those that are held while numba or LLVM is at work, whoever has called it."""
    if numba := sys.modules.get("numba.core.compiler_lock"):
        yield numba.global_compiler_lock._lock
    if llvm := sys.modules.get("llvmlite.binding.ffi"):
        yield llvm.lib._lock._lock


# Compiling is not something to do twice at once.
_lock = locks.Lock("building kernels", _locks_of_compilers)


def enter(op: OpDef, function: KernelFunction) -> int:
    """Make an op known to hosts under a number of its own, which is never used again."""
    number = next(_numbers)
    _ops[number] = (op, function)
    return number


def resolve(number: int, instance: abi.Instance) -> BuiltKernel:
    """The kernel of an op for the dtypes, ranks and attributes of `instance`; lives as long as the process.

    Raises
    ------
    PykernelsError
        There is none; the message says why.
    """
    op, function = _ops[number]
    given = signature_of(op, function, instance)
    values = {name: abi.decode_attr(instance.attrs[at]) for name, at in given.scalars if at >= 0}
    with _lock:
        signature = given.fix(_fixed.get((number, given), ()), values)
        kernel = _built.get((number, signature))
        if kernel is None:
            names = output_names(op, instance)
            kernel = build_kernel(function, op.name, given, names, read_shapes(instance), len(_by_id) + 1, values)
            _built[number, kernel.signature] = kernel
            taken = dict(kernel.signature.scalars)
            _fixed[number, given] = tuple(name for name, _ in given.scalars if name not in taken)
            _by_id[kernel.struct.id] = kernel
    return kernel


def output_names(op: OpDef, instance: abi.Instance) -> list[str]:
    """What messages call the outputs of a kernel."""
    repeated = {argument.name for argument in op.outputs if argument.repeated}
    named = [(tensor.argument.decode(), tensor.index) for tensor in instance.outputs[: instance.n_outputs]]
    return [f"{name}[{index}]" if name in repeated else name for name, index in named]


@functools.lru_cache(maxsize=1)
def services() -> abi.Services:
    """The callbacks for C hosts."""
    return abi.Services(abi.ResolveFn(_resolve), abi.ExplainFn(_explain))


def _resolve(number: int, instance: Any, error: int, size: int) -> int | None:
    try:
        view, (op, _) = instance.contents, _ops[number]
        # An error if there is no memory for the outputs: OneFlow ends the process when it cannot allocate them.
        new_outputs(op, read_tensors(op.outputs, view.outputs[: view.n_outputs]))
        return ctypes.addressof(resolve(number, view).struct)
    except BaseException as problem:
        # Whatever happens here must not leave through the host's C frames.
        callbacks.write_text(error, size, callbacks.text_of(problem))
    return None


def explain(kernel: BuiltKernel, status: int, data: Any, dims: Any, scalars: int | None, detail: Any) -> str:
    """What went wrong in a kernel that returned `status`, called with these arguments of the ABI.

    For an exception in compiled code the plain NumPy run is made on the same inputs, since it raises the same
    exception with its text and line.
    """
    function, name = kernel.function, kernel.op_name
    failure = python_form.take_failure()
    if failure or kernel.reason:
        return failure or f"op {name!r}: {function.where}: {function.name} failed"
    if status == abi.Status.WRONG_SHAPE:
        output, shape = int(detail[0]), tuple(detail[2 : 2 + detail[1]])
        args, outs, _ = python_form.read_arguments(kernel.signature, data, dims, scalars)
        wanted = reference.leaves(outs)[output].shape
        return reference.wrong_shape_text(function, name, kernel.output_names[output], shape, wanted)
    args, outs, keywords = python_form.read_arguments(kernel.signature, data, dims, scalars)
    mutable = kernel.signature.mutable
    args = tuple(copy.deepcopy(group) if at in mutable else group for at, group in enumerate(args))
    try:
        reference.run(function, name, args, outs, kernel.output_names, keywords, mutable)
    except KernelError as error:
        return str(error)
    return (
        f"op {name!r}: {function.where}: {function.name} raised an exception in compiled code that its plain NumPy "
        f"run does not raise (an index past the end of an array, a variable without a value, whole numbers of more "
        f"than 64 bits or that a dtype cannot hold, or out of memory)"
    )


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
        said = explain(_by_id[kernel.contents.id], status, data, dims, scalars, detail)
    except BaseException as problem:
        said = f"the kernel failed, and so did asking why: {type(problem).__name__}: {problem}"
    callbacks.write_text(text, size, said)
