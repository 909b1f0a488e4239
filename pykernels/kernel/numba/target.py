"""A target of numba's for kernels: the processor at hand, without machine code until a kernel is complete.

numba's own target optimises every function that a kernel calls, makes machine code of it and loads that into this
process, where it is never run: most of the time that a kernel takes to compile. Here functions stay LLVM IR, which
`compiler` optimises once, as a whole.
"""

from __future__ import annotations

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
from numba.core.runtime.context import NRTContext
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.untyped_passes import LiteralUnroll, TranslateByteCode

from pykernels.kernel.numba import (
    broadcasting,
    copying,
    counting,
    flat,
    given_outputs,
    memory_safety,
    numpy_operations,
    ranges,
    reshaping,
)
from pykernels.kernel.numba.inlining import Preparation
from pykernels.kernel.numba.unbound import Checks

__all__ = ["compile_function", "kernel_target"]

_NAME = "pykernels"


class _Library(AOTCodeLibrary):  # type: ignore[misc]
    """The IR of a function, as text, and the libraries of those that it calls: linked once, for a whole kernel."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._texts: list[str] = []

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if function.name.startswith("__excinfo_unwrap_args"):
                # Each function that may raise an exception of a kind brings the same one along.
                function.linkage = "linkonce_odr"
            _zero_variables(function)
        self._texts.append(cgutils.normalize_ir_text(str(ir_module)))

    def finalize(self) -> None:
        self._finalized = True

    def linked(self) -> Any:
        """A module of its own with the function and all that it calls."""
        module = self._final_module.clone()
        waiting, seen = [self], {rtsys.library}
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
        module.link_in(llvm.parse_assembly(counting.FUNCTIONS))
        return module


def _zero_variables(function: ir.Function) -> None:
    """Begin with 0 in every variable: LLVM may take one without a value for another number at each use of it."""
    builder = ir.IRBuilder()
    for block in function.blocks[:1]:
        for instruction in [each for each in block.instructions if isinstance(each, AllocaInstr) and not each.operands]:
            builder.position_after(instruction)
            builder.store(ir.Constant(instruction.type.pointee, None), instruction)


class _Codegen(AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Library

    def _check_llvm_bugs(self) -> None:
        pass  # of processes that change their locale: numba's own target looks for it


class _References(NRTContext):  # type: ignore[misc]
    """Where IR finds references to count. numba takes every value apart for it, which is a quarter of its IR."""

    @functools.cached_property
    def _may_refer(self) -> Callable[[nb.Type], bool]:
        return functools.cache(lambda type_: self._context.data_model_manager[type_].contains_nrt_meminfo())

    def get_meminfos(self, builder: Any, ty: nb.Type, val: Any) -> list[tuple[nb.Type, Any]]:
        model = self._context.data_model_manager[ty]
        if model.has_nrt_meminfo():
            return list(super().get_meminfos(builder, ty, val))
        members = [(type_, get) for type_, get in model.traverse(builder) if self._may_refer(type_)]
        return [found for type_, get in members for found in self.get_meminfos(builder, type_, get(val))]


def _count_declarations(context: Any) -> int:
    lists = (entries for registry in context._registries for entries in vars(registry).values())
    return sum(len(entries) for entries in lists if isinstance(entries, list))


class _TypingContext(typing.Context):  # type: ignore[misc]
    """Looks for new declarations only if there are any: numba does at every call in a kernel."""

    _known = -1

    def refresh(self) -> None:
        if _count_declarations(self) != self._known:
            super().refresh()
            self._known = _count_declarations(self)


class _CallConvention(callconv.CPUCallConv):  # type: ignore[misc]
    """numba's, but for an exception of its own code in a `try`: numba forgets to leave that, and raises it again."""

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
        return _References(self, self.enable_nrt)

    def refresh(self) -> None:
        if _count_declarations(self) != self._known:
            super().refresh()
            # After numba's, so that they count.
            for ours in (reshaping, copying, flat, numpy_operations, broadcasting, ranges):
                self.install_registry(ours.registry)
            self._known = _count_declarations(self)
            entries = (entry for registry in self._registries for entry in registry.functions)
            # What stands for itself is an intrinsic, and what has a tuple for a key a method in Python.
            self._written = {key for made, key, _ in entries if key is not made and not isinstance(key, tuple)}
        self.typing_context.refresh()

    def load_additional_registries(self) -> None:
        # numba's runtime is made once per process, and must stay callable.
        rtsys.initialize(cpu_target.target_context)
        super().load_additional_registries()

    def get_ufunc_info(self, ufunc_key: Any) -> Any:
        return numpy_operations.ufunc_loops(ufunc_key)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if isinstance(fn, nb.Dispatcher) and fn.dispatcher.targetdescr is cpu_target:
            # Compiled by `numba.njit`: some of numba's own functions are, and helpers of the user's may be.
            if fn.dispatcher.py_func.__module__ in memory_safety.TRUSTED:
                found = cpu_target.target_context.get_function(fn, sig)
                found._context = self
                return found
            fn = nb.Dispatcher(_compiled_again(fn.dispatcher))
            fn.dispatcher.compile(sig.args)
        key = fn.get_impl_key(sig) if isinstance(fn, nb.Callable) else fn
        if isinstance(getattr(key, "__self__", None), _dynfunc._Closure):
            # numba shares a function's type between targets, and has compiled the function for its own since.
            fn.get_call_type(self.typing_context, sig.args, {})
            key = fn.get_impl_key(sig)
        found = super().get_function(fn, sig, _firstcall)
        if key in self._written:
            memory_safety.check(key)
        return given_outputs.checked(self, fn, sig, found)

    def create_cpython_wrapper(self, *args: Any, **kwargs: Any) -> None:
        pass

    def create_cfunc_wrapper(self, *args: Any, **kwargs: Any) -> None:
        pass

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        library._ensure_finalized()
        return library  # numba knows functions by what it gets here, so each must be another


class _Target(CPUTarget):  # type: ignore[misc]
    name = _NAME

    @functools.cached_property
    def _toplevel_target_context(self) -> Any:
        return _Context(self.typing_context, self._target_name)

    @functools.cached_property
    def _toplevel_typing_context(self) -> Any:
        return _TypingContext()


#: What to compile for.
kernel_target = _Target(_NAME)


class _Compiler(Compiler):  # type: ignore[misc]
    """numba's, with passes of ours."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if self.state.func_ir is None:
            passes.add_pass_after(Preparation, TranslateByteCode)
        passes.add_pass_after(Checks, LiteralUnroll)  # after which each assignment is to a variable of its own
        passes.finalize()
        return [passes]


class _Dispatcher(Dispatcher):
    targetdescr = kernel_target

    def add_overload(self, cres: Any) -> None:
        # Python never calls it, so there is nothing to enter into its table.
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> Any:
        with target_override(_NAME):
            return super().compile(sig)


def compile_function(**options: Any) -> Callable[[Any], _Dispatcher]:
    """As ``numba.njit(**options)``, for this target, and with checks of all indices unless `options` say otherwise.

    So numba's own functions in Python have them, too: some trust the indices that they are given.
    """
    types = options.pop("locals", None)  # of variables, which some of numba's own functions give

    def compiled(function: Any) -> _Dispatcher:
        checks = function.__module__ not in memory_safety.TRUSTED
        target_options = {"nopython": True, "boundscheck": checks, **options}
        return _Dispatcher(function, locals=types, targetoptions=target_options, pipeline_class=_Compiler)

    return compiled


@functools.cache
def _compiled_again(dispatcher: Any) -> _Dispatcher:
    """A function that `numba.njit` has compiled, for this target."""
    kept = {key: value for key, value in dispatcher.targetoptions.items() if key in ("error_model", "fastmath")}
    return compile_function(locals=dispatcher.locals, **kept)(dispatcher.py_func)


class _Kernels(CPU):  # type: ignore[misc]
    """numba looks up by classes what may be called where: whatever is for processors may be."""


target_registry[_NAME] = _Kernels
dispatcher_registry[_Kernels] = _Dispatcher
jit_registry[_Kernels] = compile_function
