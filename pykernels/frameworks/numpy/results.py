"""The arrays that a call computes: new ones, or those of ``out=``, as with NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.call.plan import arrays_of_out
from pykernels.define.declared import Declaration
from pykernels.define.instance import TensorSpec, grouped, new_outputs
from pykernels.kernel.build import BuiltKernel
from pykernels.kernel.facts import ELEMENTWISE


class Results:
    """The results of a call.

    Parameters
    ----------
    inferred : sequence of sequence of TensorSpec
        What `OpDef.infer` returns.
    inputs : iterable of ndarray
        What the kernel reads.
    out : array or tuple, optional
        The array to write the only output into, or for each output one or None.
    where : array_like
        Which elements of these arrays to write. Only elementwise kernels compute some elements and not others.

    Attributes
    ----------
    computed : list of list of ndarray
        What the kernel writes into: C-contiguous arrays that overlap no other. They are those of `out` where these are
        such arrays.

    Raises
    ------
    CallError
        An array of `out` does not fit, or is read-only, `where` does not broadcast, or memory is full.
    """

    def __init__(
        self,
        op: Declaration,
        inferred: Sequence[Sequence[TensorSpec]],
        inputs: Iterable[np.ndarray],
        *,
        out: Any = None,
        where: Any = True,
    ) -> None:
        self._op = op
        self._where = where
        places = [(f"'{a.name}'", spec) for a, specs in zip(op.outputs, inferred) for spec in specs]
        self._out = arrays_of_out(op, out, len(places))
        for array, (name, spec) in zip(self._out, places):
            if array is not None:
                _check(op, name, spec, array)
        if where is not True:
            self._where = _mask(op, where, [spec for _, spec in places])
        used = list(inputs)
        direct: list[np.ndarray | None] = []
        for array in self._out:
            is_direct = array is not None and where is True and _is_plain(array)
            if is_direct and not any(np.may_share_memory(array, each) for each in used):
                used.append(array)
                direct.append(np.asarray(array))
            else:
                direct.append(None)
        counts = [len(specs) for specs in inferred]
        missing = [
            [spec for spec, array in zip(*group) if array is None] for group in zip(inferred, grouped(direct, counts))
        ]
        new = chain(*new_outputs(op, missing))
        self.computed = grouped([next(new) if array is None else array for array in direct], counts)

    def check_kernel(self, kernel: BuiltKernel) -> None:
        """Raise `CallError` if the kernel does not compute each element by itself, and `where` is given."""
        if self._where is not True and kernel.facts.form != ELEMENTWISE:
            raise CallError(
                f"op {self._op.name}: where= is for elementwise kernels; this one is of the form "
                f"'{kernel.facts.form}': {kernel.facts.reason}"
            )

    def finish(self) -> list[np.ndarray]:
        """Return the arrays of `out`, with the results in them, and new ones."""
        results = []
        for array, computed in zip(self._out, chain(*self.computed)):
            if array is not None and not np.may_share_memory(array, computed):
                np.copyto(array, computed, where=self._where)
            results.append(computed if array is None else array)
        return results


def _is_plain(array: np.ndarray) -> bool:
    return bool(array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative)


def _check(op: Declaration, name: str, spec: TensorSpec, array: Any) -> None:
    where = f"op {op.name}: out for its output {name}"
    if not isinstance(array, np.ndarray):
        raise WrongType(f"{where} is a {type(array).__name__}, not an array of NumPy")
    if array.shape != spec.shape:
        raise CallError(f"{where} has the shape {array.shape}, and the result has {spec.shape}")
    if array.dtype.newbyteorder("=") != spec.dtype:
        raise WrongType(f"{where} has dtype {array.dtype}, and the result has {spec.dtype}; they must be the same")
    if not array.flags.writeable:
        raise CallError(f"{where} is read-only")


def _mask(op: Declaration, where: Any, specs: Sequence[TensorSpec]) -> np.ndarray:
    mask = np.array(where)  # a copy, since it may be an array of `out`
    if mask.dtype != np.bool_:
        raise WrongType(f"op {op.name}: where has dtype {mask.dtype}, not bool")
    for spec in specs:
        assert spec.shape is not None, "inference from known shapes gives known shapes"
        try:
            np.broadcast_to(mask, spec.shape)
        except ValueError as error:
            raise CallError(
                f"op {op.name}: where has the shape {mask.shape}, which does not broadcast to that of the result, "
                f"{spec.shape}"
            ) from error
    return mask
