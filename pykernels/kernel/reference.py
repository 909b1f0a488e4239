"""Run a kernel function by plain NumPy: the reference for all compiled forms."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base.dtypes import seen_as
from pykernels.base.errors import KernelError
from pykernels.kernel.read.signature import leaves
from pykernels.kernel.read.source import CURE_OF_WRITES, KernelFunction

_LEGACY_PROMOTION = int(np.__version__.split(".")[0]) < 2


def run(
    kernel: KernelFunction,
    op_name: str,
    args: tuple[Any, ...],
    outs: tuple[Any, ...],
    output_names: Sequence[str],
    keywords: Mapping[str, Any],
    mutable: Collection[int] = (),
) -> None:
    """Run a kernel as plain Python and write its results to `outs`.

    Parameters
    ----------
    args, outs : tuple of (ndarray, tuple of ndarray or None)
        One for each argument of the definition. The kernel sees `args` read-only.
    output_names : sequence of str
        A name for each tensor of `outs`.
    keywords : mapping
        A value for each of ``kernel.keywords``.
    mutable : collection of int
        The positions in `args` of the inputs that the kernel may change.

    Raises
    ------
    KernelError
        The kernel raised, or returned the wrong count, shape or dtype. The message names op, file and line.
    """
    taken, filled = _map(_as_seen, args), _map(_as_seen, outs)
    seen = tuple(group if at in mutable else _map(_read_only, group) for at, group in enumerate(taken))
    with np.errstate(all="ignore"):
        try:
            result = kernel.function(*((seen, filled) if kernel.takes_outs else (seen,)), **keywords)
        except (Exception, SystemExit) as error:
            raise KernelError(failure_text(kernel, op_name, error)) from error
    if not kernel.takes_outs:
        _store(kernel, op_name, result, leaves(filled), output_names)
    elif result is not None:
        raise KernelError(
            f"op {op_name!r}: {kernel.where}: {kernel.name} takes 'outs' and so must write into them, "
            f"but returned a value ({type(result).__name__})"
        )
    changed = [args[at] for at in mutable], [taken[at] for at in mutable]
    with np.errstate(all="ignore"):
        for array, value in zip(leaves((*outs, *changed[0])), leaves((*filled, *changed[1]))):
            if value is not array:
                array[...] = value


def failure_text(kernel: KernelFunction, op_name: str, error: BaseException) -> str:
    """Return the message for an exception in a kernel, with the user's line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == str(kernel.path)]
    where = f"{kernel.path}:{own[-1].lineno}" if own else kernel.where
    cure = f". {CURE_OF_WRITES}" if isinstance(error, ValueError) and str(error).endswith("is read-only") else ""
    return f"op {op_name!r}: {where}: {kernel.name} raised {type(error).__name__}: {error}{cure}"


def _map(function: Callable[[np.ndarray], np.ndarray], group: Any) -> Any:
    """Apply a function to an array, or to each array of nested tuples."""
    if isinstance(group, tuple):
        return tuple(_map(function, each) for each in group)
    return None if group is None else function(group)


def _as_seen(array: np.ndarray) -> np.ndarray:
    """Return an array in the dtype that a kernel sees."""
    return array.astype(seen_as(array.dtype), copy=False)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def wrong_shape_text(
    kernel: KernelFunction, op_name: str, output: str, shape: tuple[int, ...], wanted: tuple[int, ...]
) -> str:
    """Return the message for an output of the wrong shape."""
    return (
        f"op {op_name!r}: {kernel.where}: {kernel.name} returned shape {shape} for output {output!r}, but the "
        f"definition infers {wanted}"
    )


def _store(kernel: KernelFunction, op_name: str, result: Any, outs: Sequence[np.ndarray], names: Sequence[str]) -> None:
    where = f"op {op_name!r}: {kernel.where}: {kernel.name}"
    if not outs:
        if result is not None:
            raise KernelError(
                f"{where} returned a {type(result).__name__}, but the op has no outputs: write into the inputs that it "
                "changes, and return nothing"
            )
        return
    if result is None:
        raise KernelError(f"{where} returned None. Return the output array, or a tuple of them")
    if len(outs) == 1 and not isinstance(result, (tuple, list)):
        result = (result,)
    if not isinstance(result, tuple):
        raise KernelError(f"{where} returned a {type(result).__name__}; return a tuple of {len(outs)} arrays")
    results = leaves(result)
    if len(results) != len(outs):
        raise KernelError(
            f"{where} returned {len(results)} arrays, but the op has {len(outs)} outputs ({', '.join(names)})"
        )
    for name, out, value in zip(names, outs, results):
        if not isinstance(value, (np.ndarray, np.generic)):
            raise KernelError(f"{where} returned a {type(value).__name__} for output {name!r}; return a NumPy array")
        if value.shape != out.shape:
            raise KernelError(wrong_shape_text(kernel, op_name, name, value.shape, out.shape))
        if value.dtype != out.dtype and not _legacy_scalar(value, out) and not _is_half(value, out):
            from pykernels.kernel.expression.strong_numbers import find_strong_number  # not above: few calls fail

            strong = "" if _LEGACY_PROMOTION else find_strong_number(kernel, value.dtype)
            cure = f". {strong} is a {value.dtype} number, which widens the array: write float({strong})"
            raise KernelError(
                f"{where} returned dtype {value.dtype} for output {name!r}, but the definition infers {out.dtype}"
                f"{cure if strong else ''}"
            )
        out[...] = value


def _is_half(value: np.ndarray | np.generic, out: np.ndarray) -> bool:
    """Whether a result is to be rounded to float16, which SciPy's functions do not return."""
    return out.dtype == np.float16 and value.dtype.kind == "f"


def _legacy_scalar(value: np.ndarray | np.generic, out: np.ndarray) -> bool:
    """Undo the widening of 0-d arrays: before NumPy 2 they did not outweigh Python numbers (NEP 50)."""
    return _LEGACY_PROMOTION and value.ndim == 0 and value.dtype.kind == out.dtype.kind
