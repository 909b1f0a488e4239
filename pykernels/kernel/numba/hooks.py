"""The table of hooks into private parts of numba and the text of LLVM IR, and which of them are on.

A hook uses names that numba does not document, or expects LLVM to print IR in a certain way. The hooks are tested with
the versions of numba from `OLDEST` up to, but not including, `NEXT`. With another version:

- Optional hooks are off. Kernels still compile, but run slower or take longer to compile.
- Required hooks, which keep kernels correct and safe, are on if numba has the names that they use. If it lacks one, or
  numba fails, the kernel runs as Python.

The module imports numba only when a hook is looked up.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pykernels.base.errors import PykernelsError

#: The versions of numba that the hooks are tested with. ``setup.cfg`` declares the same range.
OLDEST, NEXT = (0, 68), (0, 69)
RANGE = "numba >= {}.{}, < {}.{}".format(*OLDEST, *NEXT)


class NotNative(Exception):
    """The kernel cannot become machine code; the message is the reason, short enough for one line."""


class OtherRank(NotNative):
    """A result has another number of axes than the definition, in machine code at least."""


@dataclass(frozen=True)
class Hook:
    """A hook; its name in `HOOKS` is the module or package that implements it, within this package."""

    #: What the hook does for a kernel.
    does: str
    #: What the hook expects of numba or LLVM.
    relies_on: str
    #: The private names that it uses; the hook is off if one is missing.
    names: tuple[str, ...] = ()
    #: Whether kernels would be wrong or unsafe without the hook, so that they run as Python.
    is_required: bool = False


class Unspecialized(BaseException):
    """The kernel has to be compiled for the values of its attributes. No error of numba's, which goes on after one."""


def _required(does: str, relies_on: str, *names: str) -> Hook:
    return Hook(does, relies_on, names, is_required=True)


def _optional(does: str, relies_on: str, *names: str) -> Hook:
    return Hook(does, relies_on, names)


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"numba.{module}.{name}" for name in names.split())


HOOKS: Mapping[str, Hook] = {
    # ---- required: without these, a kernel runs as Python
    "target": _required(
        "a kernel and all that it calls are LLVM IR, compiled once as a whole, for any process",
        "numba compiles for whatever target is registered, by the classes of its own",
        "numba._dynfunc._Closure",
        *_of("core.callconv.CPUCallConv", "return_user_exc set_static_user_exc"),
        *_of("core.codegen", "AOTCPUCodegen._library_class AOTCodeLibrary.add_ir_module AOTCodeLibrary.finalize"),
        *_of("core.codegen", "AOTCodeLibrary._get_module_for_linking AOTCodeLibrary._ensure_finalized"),
        *_of("core.compiler", "Compiler.define_pipelines DefaultPassBuilder.define_nopython_pipeline Flags"),
        *_of("core.compiler", "PassManager compile_extra"),
        *_of("core.cpu.CPUContext", "call_conv create_cfunc_wrapper create_cpython_wrapper get_executable"),
        *_of("core.cpu.CPUContext", "get_function init install_registry load_additional_registries nrt refresh"),
        *_of("core.dispatcher.Dispatcher", "add_overload compile"),
        *_of("core.registry", "CPUTarget._toplevel_target_context CPUTarget._toplevel_typing_context cpu_target"),
        *_of("core.runtime", "rtsys rtsys.initialize"),
        *_of("core.target_extension", "CPU dispatcher_registry jit_registry target_override target_registry"),
        *_of("core.typing", "Context.refresh Context.resolve_function_type Context.resolve_setitem"),
        *_of("core.untyped_passes", "LiteralUnroll TranslateByteCode"),
        "llvmlite.binding.create_pass_builder",
        "llvmlite.ir.instructions.AllocaInstr",
    ),
    "memory_safety": _required(
        "no function of numba's that trusts its indices is compiled",
        "what numba writes in LLVM IR itself is in the registries of its contexts, under keys other than itself",
        *_of("core.base.BaseContext", "get_function refresh"),
        *_of("core.typing.builtins", "IndexValue"),
        *_of("misc.special", "pndindex"),
        *_of("np.arrayobj", "reshape_unchecked"),
    ),
    "given_outputs": _required(
        "``y += x`` and ``np.add(x, z, y)`` raise where shapes do not fit, and write nowhere else",
        "numba's functions for elementwise operations take the arrays that they write to after those that they read",
        *_of("core.base.BaseContext", "make_array"),
    ),
    "arrays.flat": _required(
        "``x.flat[i]`` raises where the index is past the end",
        "numba looks up the access to an element under ``getitem`` and ``setitem`` of its type for ``x.flat``",
        *_of("core.imputils", "Registry"),
        *_of("np.arrayobj", "iternext_numpy_getitem iternext_numpy_getitem_any iternext_numpy_getitem_flat"),
    ),
    "semantics.ranges": _required(
        "a range whose stop lies before its start is empty, however far",
        "numba's state of a range has the members ``start``, ``stop`` and ``step``",
        *_of("core.imputils", "Registry"),
    ),
    "arrays.reshaping": _required(
        "``x.reshape(...)`` takes arrays that are not contiguous, and raises where the number of elements is another",
        "numba looks it up as ``array.reshape``, and makes arrays of their address, shape and strides",
        *_of("core.imputils", "Registry impl_ret_borrowed"),
        *_of("core.typing.templates", "AttributeTemplate bound_function infer_getattr signature"),
        *_of("np.arrayobj", "populate_array vararg_to_tuple"),
    ),
    "semantics.numpy_operations": _required(
        "divisions, remainders, shifts and sums of whole numbers give NumPy's values, and never end the process",
        "numba asks its context for the loops of a universal function, by NumPy's names of types",
        *_of("core.base.BaseContext", "compile_internal get_ufunc_info"),
        *_of("core.imputils", "Registry"),
        *_of("np.numpy_support", "ufunc_find_matching_loop"),
        *_of("np.ufunc_db", "get_ufunc_info"),
    ),
    "semantics.numpy_numbers": _required(
        "elements of arrays and Python's numbers have NumPy's dtypes, and wrap or raise as NumPy's do",
        "a call can be typed and compiled again, for other types of operands",
        *_of("core.imputils", "impl_ret_borrowed"),
        *_of("core.typing.Context", "resolve_function_type"),
        *_of("np.numpy_support", "as_dtype from_dtype"),
    ),
    "functions": _required(
        "``argmax``, ``median``, ``stack`` and others compile, and give NumPy's values",
        "an overload for our target is found before numba's own",
        *_of("core.types.misc", "SliceType"),
        *_of("np.arrayobj", "load_item store_item"),
        *_of("core.typing.templates", "AttributeTemplate"),
        *_of("np.unsafe.ndarray", "to_fixed_tuple"),
    ),
    "python_calls.calling": _required(
        "a function that is not compiled is called as Python, and the rest of its kernel is compiled",
        "numba asks its context for the signature of a call, and emits what the context has for that signature",
        *_of("core.imputils", "impl_ret_new_ref"),
        *_of("core.typing.Context", "resolve_function_type resolve_getattr resolve_value_type"),
        *_of("core.typing.templates", "AbstractTemplate Signature"),
        *_of("np.arrayobj", "populate_array"),
        *_of("np.numpy_support", "as_dtype from_dtype"),
    ),
    "semantics.inlining": _required(
        "stores and errors beside a function within a kernel stay",
        "numba drops assignments without a use when it inlines, but for classes that are registered",
        *_of("core.compiler_machinery", "FunctionPass register_pass"),
        *_of("core.ir", "Assign Expr Stmt Var"),
        *_of("core.ir_utils", "alias_analysis_extensions remove_dead_extensions"),
    ),
    "semantics.unbound": _required(
        "a variable without a value raises where it is read",
        "each assignment shows in numba's IR, and a pass may add others",
        *_of("core.analysis", "compute_cfg_from_blocks"),
        *_of("core.compiler", "run_frontend"),
        *_of("core.compiler_machinery", "FunctionPass register_pass"),
        *_of("core.ir", "Assign Block Const Expr Expr.call Global Inst Loc Stmt Var"),
    ),
    "compiler_locks": _required(
        "a fork waits until numba and LLVM have compiled what other threads have asked them for",
        "each compiles under one lock",
        *_of("core.compiler_lock", "global_compiler_lock._lock"),
        "llvmlite.binding.ffi.lib._lock._lock",
    ),
    # ---- optional: without these, a kernel is slower or takes longer to compile
    "llvm_ir.counting": _optional(
        "small temporary arrays lie in an arena of the thread, and references to arrays are counted without atomics",
        "numba counts by ``NRT_incref`` and ``NRT_decref``, the first field of a block; LLVM prints their definitions",
    ),
    "llvm_ir.reductions": _optional(
        "sums and extrema over loops have several accumulators",
        "LLVM prints a reduction as a phi of two values, ``fadd``, ``fmul`` or ``fcmp`` and ``select``, a line each",
    ),
    "llvm_ir.fast_math": _optional(
        "``FAST_MATH = True`` lets LLVM regroup the arithmetic of loops and whole-array kernels",
        "LLVM prints an operation and its flags in a line",
    ),
    "llvm_ir.loop_math": _optional(
        "``exp`` and its like are computed on vectors in loops and whole-array kernels",
        "LLVM prints the declarations of C's functions, by their names there",
    ),
    "arrays.output_reuse": _optional(
        "a large result is computed directly in the output, and not copied",
        "numba gets memory for an array by ``NRT_MemInfo_alloc_aligned``, and knows its size then",
    ),
    "arrays.unchecked": _optional(
        "indices of a loop are checked once before it, so that it may be computed in vectors",
        "numba loads and stores an element at an address",
        *_of("core.base.BaseContext", "subtarget"),
        *_of("np.arrayobj", "load_item store_item"),
    ),
    "arrays.assignments": _optional(
        "assignments of slices copy in whole runs, and take less time to compile",
        "numba looks them up as ``setitem``, and works out the part of the array in one function",
        *_of("core.types.misc", "SliceType"),
        *_of("np.arrayobj", "basic_indexing normalize_indices raise_with_shape_context setitem_array"),
    ),
    "arrays.broadcasting": _optional(
        "operations on arrays of 3 and more axes compile in a fraction of the time, and run faster",
        "numba writes them with the classes and functions of one module, which find each other by name",
        *_of("core.funcdesc", "default_mangler"),
        *_of("np.npyimpl", "_ArrayHelper _ArrayHelper.create_iter_indices _ArrayHelper._load_effective_address"),
        *_of("np.npyimpl", "_ArrayIndexingHelper.update_indices _prepare_argument array_positive_impl"),
        *_of("np.npyimpl", "_ufunc_db_function numpy_ufunc_kernel register_binary_operator_kernel"),
        *_of("np.npyimpl", "register_ufunc_kernel ufunc_find_matching_loop"),
        *_of("np.npyimpl", "register_ufuncs register_unary_operator_kernel"),
        *_of("np.ufunc_db", "get_ufuncs"),
    ),
    "llvm_ir.references": _optional(
        "kernels compile in three quarters of the time",
        "a type's model says whether it holds references",
        *_of("core.runtime.context", "NRTContext.get_meminfos"),
    ),
}


def _version() -> str:
    import numba

    return str(numba.__version__)


def _is_tested() -> bool:
    release = tuple(map(int, _version().split(".")[:2]))
    return OLDEST <= release < NEXT


@functools.cache
def _missing(hook: Hook) -> str:
    """Return the first name of a hook that numba and llvmlite lack; empty if they have all."""
    for name in hook.names:
        try:
            pkgutil.resolve_name(name)
        except (AttributeError, ImportError):
            return name
    return ""


def is_on(name: str) -> bool:
    """Whether a hook is on."""
    hook = HOOKS[name]
    return (hook.is_required or _is_tested()) and not _missing(hook)


def load(name: str) -> Any:
    """Return the module of a hook; None if the hook is off."""
    return importlib.import_module(f"pykernels.kernel.numba.{name}") if is_on(name) else None


@contextlib.contextmanager
def using_numba() -> Iterator[None]:
    """Turn failures of an untested version of numba into `NotNative`.

    Raises
    ------
    NotNative
        A required hook is off, or an untested version of numba fails.
    """
    reason = _refusal()
    if reason:
        raise NotNative(reason)
    try:
        yield
    except (NotNative, PykernelsError):
        raise
    except Exception as error:
        if _is_tested():
            raise
        text = f"numba {_version()} fails: {type(error).__name__}: {error}; pykernels is tested with {RANGE}"
        raise NotNative(text) from error


def _module(name: str) -> str:
    return name.rpartition(".")[2]


def _refusal() -> str:
    """Return why numba cannot compile any kernel: a required hook is off. Empty if it can."""
    for name, hook in HOOKS.items():
        missing = _missing(hook) if hook.is_required else ""
        if missing:
            who = f"which {_module(name)} relies on"
            return f"numba {_version()} has no {missing}, {who}; pykernels is tested with {RANGE}"
    return ""


def state() -> str:
    """Return what kernels lose with this version of numba, in one line; empty if nothing."""
    refusal = _refusal()
    if refusal:
        return f"loops and whole-array kernels run as Python: {refusal}"
    off = [_module(name) for name in HOOKS if not is_on(name)]
    return f"not tested: loops and whole-array kernels go without {', '.join(off)}" if off else ""
