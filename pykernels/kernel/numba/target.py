"""A numba target for kernels: the local processor, without machine code until a kernel is complete.

numba's own target optimises every function that a kernel calls, compiles it to machine code and loads that into this
process, where it never runs: this takes most of a kernel's compile time. With this target functions stay LLVM IR, which
`compiler` optimises once, as a whole.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
from llvmlite.ir.instructions import AllocaInstr
from numba import _dynfunc
from numba import types as nb
from numba.core import callconv, cgutils, cpu, typing
from numba.core.codegen import AOTCodeLibrary, AOTCPUCodegen
from numba.core.compiler import Compiler, DefaultPassBuilder, PassManager
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUTarget, cpu_target
from numba.core.runtime import rtsys
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.untyped_passes import LiteralUnroll, TranslateByteCode

from pykernels.kernel.numba import given_outputs, hooks, memory_safety
from pykernels.kernel.numba.llvm_ir import counting
from pykernels.kernel.numba.semantics import numpy_operations
from pykernels.kernel.numba.semantics.inlining import Preparation
from pykernels.kernel.numba.semantics.unbound import Checks

_NAME = "pykernels"
# The hooks with functions that are compiled in place of numba's own.
_WITH_REGISTRIES = (
    "arrays.reshaping",
    "arrays.assignments",
    "arrays.flat",
    "semantics.numpy_operations",
    "arrays.broadcasting",
    "semantics.ranges",
)


class _Library(AOTCodeLibrary):  # type: ignore[misc]
    """The IR of a function as text, and the libraries of the functions that it calls; linked once per kernel."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._texts: list[str] = []

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if function.name.startswith("__excinfo_unwrap_args"):
                # Every function that may raise the same kind of exception defines the same symbol.
                function.linkage = "linkonce_odr"
            _zero_variables(function)
        self._texts.append(cgutils.normalize_ir_text(str(ir_module)))

    def finalize(self) -> None:
        self._finalized = True

    def linked(self) -> Any:
        """Return a separate module with the function and all that it calls."""
        module = self._final_module.clone()
        counts = hooks.is_on("llvm_ir.counting")
        waiting, seen = [self], {rtsys.library} if counts else set()
        while waiting:
            library = waiting.pop()
            if library in seen:
                continue
            seen.add(library)
            if isinstance(library, _Library):
                for text in library._texts:
                    module.link_in(llvm.parse_assembly(text))
                waiting += library._linking_libraries
            else:
                module.link_in(library._get_module_for_linking(), preserve=True)
        if counts:
            module.link_in(llvm.parse_assembly(counting.FUNCTIONS))
        return module


def _zero_variables(function: ir.Function) -> None:
    """Initialise every variable with 0: LLVM may assume a different value at each use of an undefined one."""
    builder = ir.IRBuilder()
    for block in function.blocks[:1]:
        for instruction in [each for each in block.instructions if isinstance(each, AllocaInstr) and not each.operands]:
            builder.position_after(instruction)
            builder.store(ir.Constant(instruction.type.pointee, None), instruction)


class _Codegen(AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Library

    def _check_llvm_bugs(self) -> None:
        pass  # the bug affects processes that change their locale; numba's own target checks for it


def _count_declarations(context: Any) -> int:
    return sum(map(len, _lists_of(context, len(context._registries))))


@functools.lru_cache(maxsize=4)
def _lists_of(context: Any, n_registries: int) -> list[list[Any]]:
    """Return the lists of declarations in the registries of a context, of which there are so many."""
    lists = (entries for registry in context._registries for entries in vars(registry).values())
    return [entries for entries in lists if isinstance(entries, list)]


class _TypingContext(typing.Context):  # type: ignore[misc]
    """Looks for new declarations only if there are any, not at every call in a kernel as numba does."""

    _known = -1

    @functools.cached_property
    def _calls_of_python(self) -> Any:
        return hooks.load("python_calls.calling").Typing(self)

    def refresh(self) -> None:
        if _count_declarations(self) != self._known:
            # For another target, numba would pass over our declarations, once and for all.
            with target_override(_NAME):
                super().refresh()
            self._known = _count_declarations(self)

    def resolve_value_type(self, value: Any) -> Any:
        try:
            return super().resolve_value_type(value)
        except ValueError:
            found = self._calls_of_python.function_type(value)
            if found is None:
                raise
            return found

    def resolve_getattr(self, type_: Any, name: str) -> Any:
        found = super().resolve_getattr(type_, name)  # which is false for the shape of an array without axes
        return self._calls_of_python.method_type(type_, name) if found is None else found

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        given_outputs.refuse_inputs(func, args)
        declared = super().resolve_function_type

        def resolve() -> Any:
            return numpy_operations.in_numpys_dtype(func, declared(func, args, kws))

        return self._calls_of_python.resolve(func, args, kws, resolve)


class _CallConvention(callconv.CPUCallConv):  # type: ignore[misc]
    """numba's convention, except that an exception that numba's own code raises in a `try` jumps to its handler."""

    def return_user_exc(self, builder: Any, exc: Any, *args: Any, **kwargs: Any) -> None:
        if hasattr(builder, "_in_try_block"):
            self.set_static_user_exc(builder, exc, *args, **kwargs)
            self.context.nrt.eh_check(builder)
            builder.branch(builder._in_try_block["target"])
        else:
            super().return_user_exc(builder, exc, *args, **kwargs)


class _Context(cpu.CPUContext):  # type: ignore[misc]
    _known = -1

    @property
    def call_conv(self) -> Any:
        return _CallConvention(self)

    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen(_NAME, "host")

    @functools.cached_property
    def nrt(self) -> Any:
        references = hooks.load("llvm_ir.references")
        return references.References(self, self.enable_nrt) if references else super().nrt

    @functools.cached_property
    def _written(self) -> set[Any]:
        """The keys of the functions that registries implement."""
        return set()

    @functools.cached_property
    def _read(self) -> collections.Counter[Any]:
        """The number of functions of each registry that `_written` knows."""
        return collections.Counter()

    def _find_written(self) -> None:
        for registry in self._registries:
            # An entry whose key is itself is an intrinsic, and one whose key is a tuple is a method in Python.
            entries = registry.functions[self._read[registry] :]
            self._written.update(key for made, key, _ in entries if key is not made and not isinstance(key, tuple))
            self._read[registry] = len(registry.functions)

    def refresh(self) -> None:
        if _count_declarations(self) != self._known:
            super().refresh()
            # Install ours after numba's, so that they take precedence.
            for hook in filter(None, map(hooks.load, _WITH_REGISTRIES)):
                self.install_registry(hook.registry)
            self._known = _count_declarations(self)
            self._find_written()
        self.typing_context.refresh()

    def load_additional_registries(self) -> None:
        # numba initialises its runtime once per process, and it must stay callable.
        rtsys.initialize(cpu_target.target_context)
        super().load_additional_registries()

    def get_ufunc_info(self, ufunc_key: Any) -> Any:
        return numpy_operations.ufunc_loops(ufunc_key)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if hasattr(sig, "emit_call_of_python"):
            return functools.partial(sig.emit_call_of_python, self)
        if isinstance(fn, nb.Dispatcher) and fn.dispatcher.targetdescr is cpu_target:
            # The function is compiled by `numba.njit`, like some of numba's own functions and maybe the user's helpers.
            if fn.dispatcher.py_func.__module__ in memory_safety.TRUSTED:
                found = cpu_target.target_context.get_function(fn, sig)
                found._context = self
                return found
            fn = nb.Dispatcher(_compiled_again(fn.dispatcher))
            fn.dispatcher.compile(sig.args)
        overloaded = getattr(fn.template, "_overload_func", None) if isinstance(fn, nb.BoundFunction) else None
        if overloaded is not None:
            # numba finds a method's function by its name, of whichever target declared it last.
            fn, sig = self.typing_context.resolve_value_type(overloaded), sig.as_function()
            sig = fn.get_call_type(self.typing_context, sig.args, {})
        key = fn.get_impl_key(sig) if isinstance(fn, nb.Callable) else fn
        if isinstance(getattr(key, "__self__", None), _dynfunc._Closure):
            # numba shares a function's type between targets, and may have compiled the function for its own target
            # since.
            fn.get_call_type(self.typing_context, sig.args, {})
            key = fn.get_impl_key(sig)
        found = super().get_function(fn, sig, _firstcall)
        if key in self._written:
            memory_safety.check(key)
        return given_outputs.checked(self, fn, sig, found)

    def create_cpython_wrapper(self, *args: Any, **kwargs: Any) -> None:
        pass

    create_cfunc_wrapper = create_cpython_wrapper

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        library._ensure_finalized()
        return library  # numba identifies functions by this object, so each must differ


class _Target(CPUTarget):  # type: ignore[misc]
    name = _NAME

    @functools.cached_property
    def _toplevel_target_context(self) -> Any:
        return _Context(self.typing_context, self._target_name)

    @functools.cached_property
    def _toplevel_typing_context(self) -> Any:
        return _TypingContext()


#: The target to compile for.
kernel_target = _Target(_NAME)


class _Compiler(Compiler):  # type: ignore[misc]
    """numba's compiler, with additional passes."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if self.state.func_ir is None:
            passes.add_pass_after(Preparation, TranslateByteCode)
        passes.add_pass_after(Checks, LiteralUnroll)  # after it, each assignment has its own variable
        passes.finalize()
        return [passes]


class _Dispatcher(Dispatcher):
    targetdescr = kernel_target

    def add_overload(self, cres: Any) -> None:
        # Python never calls the function, so the dispatcher's table needs no entry.
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> Any:
        with target_override(_NAME):
            return super().compile(sig)


def compile_function(**options: Any) -> Callable[[Any], _Dispatcher]:
    """Return ``numba.njit(**options)`` for this target, with index checks unless `options` disable them.

    This also adds checks to numba's own Python functions, some of which do not check the given indices.
    """
    types = options.pop("locals", None) or {}  # types of variables, which some of numba's own functions declare

    def compiled(function: Any) -> _Dispatcher:
        checks = function.__module__ not in memory_safety.TRUSTED
        target_options = {"nopython": True, "boundscheck": checks, **options}
        return _Dispatcher(function, locals=types, targetoptions=target_options, pipeline_class=_Compiler)

    return compiled


@functools.cache
def _compiled_again(dispatcher: Any) -> _Dispatcher:
    """Compile a function of `numba.njit` again, for this target."""
    kept = {key: value for key, value in dispatcher.targetoptions.items() if key in ("error_model", "fastmath")}
    return compile_function(locals=dispatcher.locals, **kept)(dispatcher.py_func)


class _Kernels(CPU):  # type: ignore[misc]
    """The class by which numba finds callable functions: everything for CPUs applies to kernels."""


target_registry[_NAME] = _Kernels
dispatcher_registry[_Kernels] = _Dispatcher
jit_registry[_Kernels] = compile_function
