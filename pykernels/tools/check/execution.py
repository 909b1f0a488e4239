"""Run steps in three ways: compiled, in plain NumPy, and in plain NumPy with wider dtypes."""

from __future__ import annotations

import ctypes
import dis
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.call.steps import Step
from pykernels.define.definition import OpDef
from pykernels.define.instance import make_instance, specs_of
from pykernels.kernel import reference, service
from pykernels.kernel.read.signature import Signature, group_shapes, leaves, signature_of
from pykernels.kernel.read.source import KernelFunction
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.check.rounding import inexact, spread

#: The byte that fills the outputs before a kernel runs, which no kernel is likely to write.
_FILL = 0xA5
# How many runs measure rounding errors: those of a single run may cancel.
_RUNS = 8
_WIDER: dict[Any, Any] = {
    np.float16: np.float64,
    np.float32: np.float64,
    np.float64: np.longdouble,
    np.complex64: np.complex128,
    np.complex128: np.clongdouble,
}


class Refused(Exception):
    """A kernel raised an exception, which is the cause of this exception."""

    @property
    def is_deliberate(self) -> bool:
        """Whether the kernel may refuse the numbers: it raises the exception itself, or the error is arithmetic.

        Other exceptions mean that it refuses the shapes or dtypes.
        """
        if isinstance(self.__cause__, ArithmeticError):
            return True
        trace = None if self.__cause__ is None else self.__cause__.__traceback__
        if trace is None:
            return True
        while trace.tb_next is not None:
            trace = trace.tb_next
        code, package = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "numpy":
            return code.co_name.startswith("_raise_linalgerror")  # singular, or not positive definite
        return code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def run_compiled(step: Step, fill: int = _FILL) -> list[np.ndarray]:
    """Run the kernel and return its outputs and then its changed states, which are restored.

    This raises `KernelError` if the kernel fails.
    """
    outputs = _outputs(step)
    for array in outputs:
        filled(array, fill)
    with _kept(_states(step.op, step.inputs)) as states:
        step.call.run()
        return [array.copy() for array in (*outputs, *states)]


def run_plain(step: Step, fill: int = _FILL) -> list[np.ndarray]:
    """Run the function in plain NumPy and return the same as `run_compiled`.

    This raises `Refused` if the function raises, and `KernelError` if it returns the wrong count, shapes or dtypes.
    """
    kernel = step.call.kernel
    outputs = [filled(np.empty_like(array), fill) for array in _outputs(step)]
    arguments, _, keywords = step.call.arguments()
    with _kept(_states(step.op, step.inputs)) as states:
        _run(kernel.function, step.op.name, kernel.signature, arguments, outputs, kernel.output_names, keywords)
        return [*outputs, *(array.copy() for array in states)]


def run_function(module: OpModule, sample: Sample) -> None:
    """Run the function of a forward pass in plain NumPy, without compiling it; raise the errors of `run_plain`."""
    op, function = module.forward, module.kernel(module.forward.name)
    inferred = op.infer(specs_of(sample.inputs), sample.attributes)
    instance = make_instance(op, specs_of(sample.inputs), inferred, sample.attributes)
    signature = signature_of(op, function, instance)
    arguments = group_shapes(signature.inputs, (array.copy() for array in chain(*sample.inputs)))
    outputs = [np.zeros(spec.shape or (), spec.dtype) for spec in chain(*inferred)]
    values = {name: True if at < 0 else sample.attributes[name] for name, at in signature.scalars}
    names = service.output_names(op, instance)
    _run(function, op.name, signature, arguments, outputs, names, {**dict(signature.constants), **values})


def _run(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    arguments: tuple[Any, ...],
    outputs: Sequence[np.ndarray],
    names: Sequence[str],
    keywords: Mapping[str, Any],
) -> None:
    outs = group_shapes(signature.outputs, iter(outputs))
    try:
        reference.run(function, op_name, arguments, outs, names, keywords, signature.mutable)
    except KernelError as error:
        if isinstance(error.__cause__, Exception):
            raise Refused(str(error)) from error.__cause__
        raise


def run_exact(step: Step, rng: np.random.Generator | None = None) -> list[np.ndarray] | None:
    """Return what plain NumPy computes in wider dtypes; None if it fails.

    With `rng`, the numbers and operations have random errors in the last digits of the step's own dtypes.
    """
    signature, function = step.call.kernel.signature, step.call.kernel.function
    wider = [[_widen(array, rng) for array in group] for group in step.inputs]
    outs = [_widen(np.zeros_like(array)) for array in _outputs(step)]
    arguments = group_shapes(signature.inputs, chain(*wider))
    results = group_shapes(signature.outputs, iter(outs))
    _, _, keywords = step.call.arguments()
    with np.errstate(all="ignore"):
        try:
            if function.takes_outs:
                function.function(arguments, results, **keywords)
            else:
                returned = function.function(arguments, **keywords)
                outs = leaves(returned if isinstance(returned, tuple) else (returned,))
        except Exception:  # the function may refuse wider dtypes in any way
            return None
    return [np.asarray(each) for each in (*outs, *_states(step.op, wider))]


def rounding_errors(step: Step, exact: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return how far rounding errors in the step's own dtypes move each number of what `run_exact` returns."""
    rng = np.random.default_rng(0)
    return spread(exact, (run_exact(step, rng) for _ in range(_RUNS)))


def names(step: Step) -> list[str]:
    """Return the names for messages of the arrays that `run_compiled` and `run_plain` return."""
    states = [argument.name for argument, group in zip(step.op.inputs, step.inputs) for _ in group if argument.mutable]
    return [*step.call.kernel.output_names, *states]


def filled(array: np.ndarray, byte: int) -> np.ndarray:
    """Set each byte of `array`, and return it."""
    if array.size:
        ctypes.memset(array.ctypes.data, byte, array.nbytes)
    return array


def _outputs(step: Step) -> list[np.ndarray]:
    return list(chain(*step.outputs))


def _states(op: OpDef, inputs: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    return [array for argument, group in zip(op.inputs, inputs) for array in group if argument.mutable]


@contextmanager
def _kept(arrays: Sequence[np.ndarray]) -> Iterator[Sequence[np.ndarray]]:
    before = [array.copy() for array in arrays]
    try:
        yield arrays
    finally:
        for array, value in zip(arrays, before):
            array[...] = value


def _widen(array: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
    wide = array.astype(_WIDER.get(array.dtype.type, array.dtype))
    return wide if rng is None else inexact(wide, array.dtype, rng)


def move(array: np.ndarray, dtype: np.dtype) -> None:
    """Move each number by one in the last digit that `dtype` holds, alternately up and down."""
    if dtype.kind in "fc":
        array *= 1 + np.finfo(dtype).eps * np.where(np.arange(array.size).reshape(array.shape) % 2, 1, -1)
