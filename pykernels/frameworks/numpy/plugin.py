"""The NumPy plugin: ops called on arrays run their compiled kernels immediately."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base import abi
from pykernels.base.errors import CallError, KernelError
from pykernels.call.arrays import KernelCall
from pykernels.define.instance import grouped, specs_of
from pykernels.frameworks.numpy import native
from pykernels.frameworks.numpy.results import Results
from pykernels.kernel import service
from pykernels.kernel.build import BuiltKernel
from pykernels.load.module import OpModule


def add(module: OpModule) -> None:
    """Nothing to do: a call finds its op among the loaded ones."""


def remove(module: OpModule) -> None:
    """Nothing to do, as with `add`."""


def owns(value: Any) -> bool:
    """Return whether `value` is an array or a NumPy scalar."""
    return isinstance(value, (np.ndarray, np.generic))


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[np.ndarray]]:
    """Return a function that calls an op as `call` does, on as many arrays as `inputs` has.

    It remembers what is prepared for arrays of the same shapes and dtypes, and then runs no Python code. It also takes
    the keywords of `Results`.
    """
    sizes = [len(group) for group in inputs]
    make_call = native.make_call()
    if make_call is None:
        return lambda *arrays, **keywords: _run(
            module, op_type, grouped(arrays, sizes), attributes, counts, **keywords
        )[1]

    def general(remembering: Any, *arrays: Any, **keywords: Any) -> tuple[np.ndarray, ...]:
        ran, results = _run(module, op_type, grouped(arrays, sizes), attributes, counts, **keywords)
        addresses = ctypes.addressof(ran.kernel.struct), ctypes.addressof(ran.scalars)
        remembering.remember(arrays, tuple(results), *addresses, ran.elements, (ran.kernel, ran.scalars))
        return tuple(results)

    op = module.definition.ops[op_type]
    n_states = sum(size for argument, size in zip(op.inputs, sizes) if argument.mutable)
    bound: Callable[..., Sequence[np.ndarray]] = make_call(general, _explain, sum(sizes) - n_states)
    return bound


def call(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> list[np.ndarray]:
    """Run an op on arrays of any layout.

    Parameters
    ----------
    inputs : sequence of sequence of ndarray
        The arrays of each input argument.
    attributes : mapping
        A value for every attribute of the definition.
    counts : sequence of int
        The number of arrays of each output argument.

    Returns
    -------
    list of ndarray
        New arrays, in the order of the output arguments.

    Raises
    ------
    CallError
        The definition rejects the inputs, or there is not enough memory for the outputs that it infers.
    KernelError
        The kernel failed.
    """
    return _run(module, op_type, inputs, attributes, counts)[1]


def _run(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
    **keywords: Any,
) -> tuple[KernelCall, list[np.ndarray]]:
    op = module.definition.ops[op_type]
    # The kernel ABI requires aligned, C-contiguous buffers in native byte order.
    arrays = [[_plain(a) for a in group] for group in inputs]
    inferred = op.infer(specs_of(arrays), attributes, counts=counts)
    results = Results(op, inferred, chain(*arrays), **keywords)
    for argument, given in zip(op.inputs, inputs):
        if argument.mutable and not all(a.flags.writeable for a in given):
            raise CallError(f"op {op_type} changes its input '{argument.name}', but the array is read-only")
    # A call on arrays is not a training pass.
    ran = KernelCall(op, module.kernel_id(op_type), arrays, results.computed, attributes)
    results.check_kernel(ran.kernel)
    ran.run()
    for argument, given, used in zip(op.inputs, inputs, arrays):
        if argument.mutable:
            for original, changed in zip(given, used):
                original[...] = changed
    return ran, results.finish()


def _plain(array: Any) -> np.ndarray:
    plain = np.asarray(array)
    return np.require(plain, plain.dtype.newbyteorder("="), ["C", "A"])


def _explain(owner: tuple[BuiltKernel, Any], status: int, data: int, dims: int, detail: int) -> None:
    """Raise `KernelError` for a kernel that failed, unless plain NumPy has computed the outputs since."""
    kernel, scalars = owner
    pointers = ctypes.cast(data, ctypes.POINTER(ctypes.c_void_p))
    numbers = [ctypes.cast(each, ctypes.POINTER(ctypes.c_int64)) for each in (dims, detail)]
    problem = service.explain(kernel, abi.Status(status), pointers, numbers[0], ctypes.addressof(scalars), numbers[1])
    if problem:
        raise KernelError(problem)
