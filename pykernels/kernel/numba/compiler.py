"""Compile a kernel function for a signature: numba to LLVM IR, LLVM to an object file, the linker to a shared object.

Only this package imports numba, and only when a kernel must be compiled.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numba import types as nb
from numba.core import errors

from pykernels.base.errors import KernelError
from pykernels.build import linking
from pykernels.kernel.emit import target, vector_math
from pykernels.kernel.expression import promotion
from pykernels.kernel.facts import LOOPS, WHOLE_ARRAY, Facts, PythonCall
from pykernels.kernel.numba import adapter, cures, hooks
from pykernels.kernel.numba.hooks import NotNative
from pykernels.kernel.numba.llvm_ir import passes
from pykernels.kernel.numba.llvm_ir.loop_math import LoopMath
from pykernels.kernel.numba.numba_errors import place_of_dict, reason_of
from pykernels.kernel.numba.parts.calling import PARTS, compile_parts
from pykernels.kernel.numba.python_calls import calling as python_calls
from pykernels.kernel.numba.types import check_results, is_in_pieces, type_kernel
from pykernels.kernel.read.signature import Signature
from pykernels.kernel.read.source import KernelFunction

# The limit on LLVM instructions in a kernel with all that it calls, before optimisation. This many take some 15 s; the
# time grows with the square of their number.
_MOST_INSTRUCTIONS = 60_000
# The number of elements from which NumPy is faster at these functions, although calling it takes some ten microseconds.
# Measured on one thread: numba takes up to 4 times as long.
_LARGE = 1 << 18
_FUNCTIONS = ("nonzero", "flatnonzero", "argwhere")
# Begins the names of what takes a function of NumPy that sorts.
_SETTER = "pk_kernel_use_numpy_"


def compile_kernel(
    kernel: KernelFunction, signature: Signature, output_names: Sequence[str], output: Path
) -> tuple[Facts, bool]:
    """Compile a kernel for one signature into a shared object with the function `linking.ENTRY`.

    Returns
    -------
    facts : Facts
    is_widened : bool
        Whether a result has another dtype than the definition, so that the plain NumPy run must decide whether the
        kernel or numba's typing is the cause.

    Raises
    ------
    NotNative
        numba cannot compile it, or it needs Python at run time.
    KernelError
        It compiles, but cannot be right: it returns None, the wrong count or rank, or writes to an input.
    CompileFailed
        The linker failed.
    """
    typed = type_kernel(kernel, signature)
    returned = typed.signature.return_type
    if kernel.takes_outs:
        results, is_widened = None, False
        if not isinstance(returned, nb.NoneType):
            raise KernelError(
                f"{kernel.where}: {kernel.name} takes 'outs' and so must write into them, but returns a value"
            )
    else:
        results, is_widened = check_results(kernel, signature, output_names, returned)
    in_pieces = is_in_pieces(kernel, signature)
    try:
        module = adapter.link(
            typed,
            signature,
            kernel.keywords,
            results,
            in_pieces=in_pieces,
            may_lend=hooks.is_on("arrays.output_reuse"),
        )
    except errors.NumbaError as error:
        raise NotNative(f"numba cannot store its results: {reason_of(error)}") from error
    code, undefined, math, calls = _object_code(module, kernel)
    used = [name for name in undefined if name in PARTS]
    foreign = sorted(name for name in undefined if name not in PARTS and not _is_provided(name))
    if foreign:
        reason = cures.in_our_words(f"it needs {', '.join(foreign)} at run time")
        raise NotNative(f"{place_of_dict(kernel)}: {reason}")
    runtime = {"kernel_runtime", *(_runtime_parts()[name] for name in undefined if name in _runtime_parts())}
    if any(part.startswith("contraction:") for part in runtime):
        runtime.add("copying")  # of operands, for BLAS
    if any(part.startswith("places:") for part in runtime):
        runtime.add("ordering:int64")  # of keys with their places
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        objects, fused = compile_parts(used, Path(folder), kernel.where, fast_math=kernel.fast_math)
        needs_library = math.needs_library or any(facts.vector_math for facts in fused)
        libraries = [str(vector_math.path()), "-lm"] if needs_library else ["-lm"]
        linking.link(code, sorted(runtime), libraries, output, kernel.where, objects)
    form = LOOPS if any(map(_has_loop, (kernel.function, *kernel.helpers))) else WHOLE_ARRAY
    slower = _find_slower(kernel) if form == WHOLE_ARRAY else ""
    uses_blas = "systems" in runtime or any(name.startswith(("numba_xx", "pk_contract_float")) for name in undefined)
    return (
        Facts(
            form,
            vector_math=tuple(sorted(math.vector_math.union(*(facts.vector_math for facts in fused)))),
            scalar_math=tuple(sorted(math.scalar_math.union(*(facts.scalar_math for facts in fused)))),
            instruction_set=target.instruction_set().name,
            blas=uses_blas,
            sorting=tuple(
                name for name, part in _runtime_parts().items() if part in runtime and name.startswith(_SETTER)
            ),
            slower=slower,
            slower_from=_LARGE if slower else 0,
            # float16 and bfloat16 results are computed in separate arrays, and then written to the outputs as a whole.
            # Python is called once in a run.
            in_pieces=in_pieces and not calls and not any(map(adapter.is_half, signature.tensors)),
            fast_math=kernel.fast_math and hooks.is_on("llvm_ir.fast_math"),
            python_calls=calls,
        ),
        is_widened,
    )


def _has_loop(function: Any) -> bool:
    definition = promotion.definition_of(function)
    return definition is not None and any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(definition))


def _find_slower(kernel: KernelFunction) -> str:
    """Find what NumPy does faster on large arrays in a kernel or in the functions that it may call.

    Returns
    -------
    str
        ``file:line: what``; empty if there is nothing.
    """
    functions: list[Callable[..., Any]] = [kernel.function, *kernel.helpers]
    for function in functions:
        definition = promotion.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            what = _slower(node)
            if what:
                return f"{kernel.path.name}:{getattr(node, 'lineno', 0)}: {what}"
    return ""


def _slower(node: ast.AST) -> str:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    name = node.func.attr
    return name if name in _FUNCTIONS or (name == "where" and len(node.args) == 1) else ""


def _object_code(module: Any, kernel: KernelFunction) -> tuple[bytes, list[str], LoopMath, tuple[PythonCall, ...]]:
    """Return machine code for this processor, the functions that it leaves undefined, its math and calls of Python."""
    instructions = str(module).count("\n  ")
    if instructions > _MOST_INSTRUCTIONS:
        raise NotNative(
            f"it is long: {instructions:,} instructions of LLVM, and at most {_MOST_INSTRUCTIONS:,} are compiled"
        )
    calls = python_calls.number(module, kernel.path.parent)
    module, math = passes.optimise(module, is_fast=kernel.fast_math)
    undefined = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    undefined += [v.name for v in module.global_variables if v.is_declaration]
    return target.machine().emit_object(module), undefined, math, calls


@functools.lru_cache(maxsize=1)
def _runtime_parts() -> dict[str, str]:
    """Return the part of the runtime that defines each function which numba and our own code call.

    Of functions for one dtype, the part has the dtype, too.
    """
    untyped = {
        name: part
        for part in ("python_calls", "kernel_runtime", "copying", "systems")
        for name in re.findall(r"\b((?:NRT_|numba_|pk_|Py)\w+)[(;]", linking.RUNTIME[part][0].read_text())
    }
    typed = {
        f"{name}_{dtype}": f"{part}:{dtype}"
        for part in linking.TYPED
        for name in re.findall(r"\bPK_TYPED\((\w+)\)", linking.RUNTIME[part][0].read_text())
        for dtype in linking.C_TYPES
    }
    return untyped | typed


def _is_provided(name: str) -> bool:
    return name.startswith("_ZGV") or name in _runtime_parts() or hasattr(_c_library(), name)


@functools.cache
def _c_library() -> ctypes.CDLL:
    """Return the C library and its math library."""
    return ctypes.CDLL("libm.so.6")
