"""Call a kernel on arrays through the kernel ABI."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base import abi
from pykernels.base.errors import KernelError
from pykernels.define.definition import OpDef
from pykernels.define.instance import make_instance, specs_of
from pykernels.kernel import python_form, service
from pykernels.kernel.build import BuiltKernel


class _Scalar(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double)]


class ArrayCall:
    """A kernel and the arrays that it takes, which are C-contiguous, aligned, and in the processor's byte order.

    It can run any number of times. `data`, `dims` and `scalars` are the arguments of the ABI with these names.
    """

    def __init__(
        self,
        kernel: BuiltKernel,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        scalars: ctypes.Array[_Scalar] | None = None,
    ) -> None:
        self.kernel = kernel
        # Keep the arrays alive, since the ABI only has their addresses.
        self._arrays = [*inputs, *outputs]
        self.data = (ctypes.c_void_p * max(1, len(self._arrays)))(*(a.ctypes.data for a in self._arrays))
        dims = [n for a in self._arrays for n in a.shape]
        self.dims = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        self.scalars = scalars or (_Scalar * 1)()
        #: The end of the range of elements that starts at 0.
        self.elements = math.prod(outputs[0].shape) if outputs else 0

    def run(self, begin: int = 0, end: int | None = None) -> None:
        """Run the kernel, on a range of elements if it can run in pieces; raise `KernelError` if it fails."""
        detail = (ctypes.c_int64 * abi.DETAIL_SIZE)()
        scalars = ctypes.addressof(self.scalars)
        end = self.elements if end is None else end
        entry = ctypes.cast(self.kernel.struct.run, abi.KernelFn)
        status = entry(self.kernel.struct, self.data, self.dims, scalars, begin, end, detail)
        if status != abi.Status.OK:
            problem = service.explain(self.kernel, status, self.data, self.dims, scalars, detail)
            if problem:
                raise KernelError(problem)

    def plain(self) -> Callable[[], Any]:
        """Return a function that makes the same call of the user's function by plain NumPy."""
        function = self.kernel.function
        args, outs, keywords = self.arguments()
        if function.takes_outs:
            return lambda: function.function(args, outs, **keywords)
        return lambda: function.function(args, **keywords)

    def arguments(self) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Return ``args``, ``outs`` and keywords of the user's function; the arrays share their memory."""
        scalars = ctypes.addressof(self.scalars)
        return python_form.read_arguments(self.kernel.signature, self.data, self.dims, scalars)


class KernelCall(ArrayCall):
    """A call of the kernel of an op, for the arrays of each argument and a value of every attribute.

    This raises `PykernelsError` if no kernel can be built for them.
    """

    def __init__(
        self,
        op: OpDef,
        kernel_id: int,
        inputs: Sequence[Sequence[np.ndarray]],
        outputs: Sequence[Sequence[np.ndarray]],
        attributes: Mapping[str, Any],
        *,
        is_train: bool = False,
    ) -> None:
        instance = make_instance(op, specs_of(inputs), specs_of(outputs), attributes)
        kernel = service.resolve(kernel_id, instance)
        scalars = _scalars(kernel.struct, instance, is_train)
        super().__init__(kernel, list(chain(*inputs)), list(chain(*outputs)), scalars)


def _scalars(kernel: abi.Kernel, instance: abi.Instance, is_train: bool) -> ctypes.Array[_Scalar]:
    scalars: ctypes.Array[_Scalar] = (_Scalar * max(1, kernel.n_scalars))()
    for slot in range(kernel.n_scalars):
        position = kernel.scalars[slot]
        if position == abi.SCALAR_IS_TRAIN:
            scalars[slot].integer = is_train
            continue
        attr = instance.attrs[position]
        if attr.type in (abi.AttrType.FLOAT, abi.AttrType.DOUBLE):
            scalars[slot].real = attr.real
        else:
            scalars[slot].integer = attr.integer
    return scalars
