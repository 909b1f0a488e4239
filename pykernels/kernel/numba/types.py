"""Type a kernel function with numba for one signature, and check what it returns against the definition."""

from __future__ import annotations

import dis
import inspect
import warnings
from _ctypes import CFuncPtr
from collections.abc import Iterator, Sequence
from typing import Any

import numba
from numba import types as nb
from numba.core import errors
from numba.core.dispatcher import Dispatcher
from numba.np.numpy_support import from_dtype

from pykernels.base.dtypes import computed_in
from pykernels.base.errors import KernelError
from pykernels.build import linking
from pykernels.kernel.expression import promotion, tables
from pykernels.kernel.numba import intrinsics
from pykernels.kernel.numba.adapter import Result
from pykernels.kernel.numba.hooks import NotNative, OtherRank
from pykernels.kernel.numba.implementing import specializable
from pykernels.kernel.numba.numba_errors import line_of, reason_of
from pykernels.kernel.numba.parts import single_calls
from pykernels.kernel.numba.parts.fusing import Parts
from pykernels.kernel.numba.python_calls.calling import allowed_in
from pykernels.kernel.numba.rewriting import absent, iterations
from pykernels.kernel.numba.target import compile_function
from pykernels.kernel.read.plain import uses
from pykernels.kernel.read.signature import Group, Signature, group_shapes, leaves
from pykernels.kernel.read.source import CURE_OF_WRITES, KernelFunction

# What a kernel may use from numba besides its types and `numba.njit`.
_OF_NUMBA = (numba.prange, numba.literal_unroll)
# The limit on bytecode instructions in a function; a line has about ten. The time that numba takes grows with the
# square of their number: some 10 s for this many.
_MOST_STEPS = 4000


def type_kernel(kernel: KernelFunction, signature: Signature) -> Any:
    """Return what numba makes of the kernel for the signature: its code, and its types."""
    for function in (kernel.function, *kernel.helpers):
        _check_uses(function)
        _check_length(function)
    for helper in kernel.helpers:
        intrinsics.make_callable(helper)
    single_calls.declare()
    in_pieces = is_in_pieces(kernel, signature)
    outs = [_group_type(signature.outputs, writable=True)] if kernel.takes_outs else []
    keywords = [_keyword_type(keyword, signature) for keyword in kernel.keywords]
    pieces = [nb.UniTuple(nb.int64, 3)] if in_pieces else []
    try:
        argument_types = (_group_type(signature.inputs, writable=False), *outs, *keywords, *pieces)
        with warnings.catch_warnings(), specializable(bool(signature.specializable)), allowed_in(kernel):
            warnings.simplefilter("ignore", errors.NumbaWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # of what numba does with code of generators
            values = dict(signature.constants)
            parts = Parts(kernel.helpers, values, intrinsics.rewritten)
            function = tables.looked_up(absent.folded(kernel.function, signature.inputs, signature.outputs), values)
            if not in_pieces and linking.find_objcopy():
                function = parts.outlined(function, kernel.keywords)
            function = intrinsics.rewritten(function, kernel.keywords, values, parts.names, in_pieces=in_pieces)
            dispatcher = compile_function(**intrinsics.OPTIONS)(function)
            dispatcher.compile(argument_types)
    except (errors.NumbaError, errors.UnsupportedBytecodeError) as error:
        if "readonly" in str(error).lower().replace("-", "") and "modify" in str(error).lower():
            raise KernelError(
                f"{line_of(error, kernel)}: {kernel.name} writes to an input. {CURE_OF_WRITES}"
            ) from error
        raise NotNative(f"numba: {line_of(error, kernel)}: {reason_of(error)}") from error
    except Exception as error:  # numba fails with arbitrary errors on some code that it cannot type
        raise NotNative(f"numba breaks on {kernel.where}: {type(error).__name__}: {error}") from error
    return dispatcher.overloads[argument_types]


def _check_uses(function: Any) -> None:
    """Raise `NotNative` if a function uses what must not be compiled in.

    The address of a C function differs between processes, and numba's tools make arrays of any memory.
    """
    for name, value, line in uses(inspect.unwrap(function)):
        where = f"{function.__code__.co_filename}:{line}"
        if isinstance(value, CFuncPtr) or type(value).__module__ == "_cffi_backend":
            raise NotNative(f"{where}: {name} lies elsewhere in each process")
        is_numbas = callable(value) and str(getattr(value, "__module__", "")).partition(".")[0] == "numba"
        if is_numbas and not isinstance(value, (nb.Type, Dispatcher)) and value not in _OF_NUMBA:
            raise NotNative(f"{where}: {name} is not for kernels")


def _check_length(function: Any) -> None:
    """Raise `NotNative` if a function is too long for numba to compile it in reasonable time."""
    steps = sum(1 for _ in dis.get_instructions(inspect.unwrap(function)))
    if steps > _MOST_STEPS:
        raise NotNative(
            f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {function.__name__} is long: "
            f"{steps:,} instructions of Python, and at most {_MOST_STEPS:,} are compiled"
        )


def is_in_pieces(kernel: KernelFunction, signature: Signature) -> bool:
    """Whether a host may run the kernel in pieces; raise `KernelError` if the kernel claims so wrongly."""
    definition = promotion.definition_of(kernel.function)
    namespace = kernel.function.__globals__
    if definition is None or not iterations.is_declared(definition, namespace):
        return False
    if len(signature.tensors) == signature.n_inputs:
        raise KernelError(
            f"{kernel.where}: {kernel.name} loops over prange, where threads share the elements of the first output, "
            "but the op has no outputs. Write range"
        )
    iterations.check(definition, namespace, str(kernel.path), takes_outs=kernel.takes_outs)
    return True


def _group_type(groups: Sequence[Group], *, writable: bool) -> nb.Type:
    tensors = (
        nb.Array(from_dtype(computed_in(tensor.dtype)), tensor.ndim, "C", readonly=not (writable or tensor.mutable))
        for tensor in leaves(groups)
    )
    return _tuple_type(group_shapes(groups, tensors))


def _tuple_type(members: tuple[Any, ...]) -> nb.Type:
    return nb.Tuple([_tuple_type(m) if isinstance(m, tuple) else nb.none if m is None else m for m in members])


def _keyword_type(keyword: str, signature: Signature) -> nb.Type:
    if keyword in signature.flags:
        return nb.boolean
    if keyword in signature.reals:
        return nb.float64
    if any(name == keyword for name, _ in signature.scalars):
        return nb.int64
    value = dict(signature.constants)[keyword]
    return nb.literal(value) if isinstance(value, (bool, int, str)) else numba.typeof(value)


def check_results(
    kernel: KernelFunction, signature: Signature, names: Sequence[str], returned: nb.Type
) -> tuple[list[Result], bool]:
    """Check what the kernel returns, as far as its type shows; each call checks the rest."""
    outputs = signature.tensors[signature.n_inputs :]
    if not outputs and isinstance(returned, nb.NoneType):
        return [], False
    if isinstance(returned, (nb.NoneType, nb.Optional)):
        always = "" if isinstance(returned, nb.NoneType) else " in some cases"
        raise KernelError(
            f"{kernel.where}: {kernel.name} returns None{always}. Return the output array, or a tuple of them"
        )
    leaves = list(_leaves(returned, ()))
    if len(leaves) != len(outputs):
        raise KernelError(
            f"{kernel.where}: {kernel.name} returned {len(leaves)} arrays, but the op has {len(outputs)} outputs "
            f"({', '.join(names)})"
        )
    results = []
    for name, tensor, (path, type_) in zip(names, outputs, leaves):
        if isinstance(type_, nb.Array):
            ndim, dtype = type_.ndim, type_.dtype
        elif isinstance(type_, (nb.Number, nb.Boolean)):
            ndim, dtype = 0, type_
        else:
            raise KernelError(
                f"{kernel.where}: {kernel.name} returned a {type_} for output {name!r}; return a NumPy array"
            )
        if ndim != tensor.ndim:
            raise OtherRank(
                f"{kernel.where}: {kernel.name} returned {ndim} dimensions for output {name!r}, but the definition "
                f"infers {tensor.ndim}"
            )
        results.append(Result(path, isinstance(type_, nb.Array), dtype != from_dtype(computed_in(tensor.dtype))))
    return results, any(result.is_widened for result in results)


def _leaves(type_: nb.Type, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], nb.Type]]:
    if isinstance(type_, nb.BaseTuple):
        for at, member in enumerate(type_.types):
            yield from _leaves(member, (*path, at))
    else:
        yield path, type_
