"""LLVM for the chosen processor: instruction set, passes and target machine. It needs llvmlite, but not numba."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from pykernels.base.errors import BuildError
from pykernels.build import processor
from pykernels.kernel.emit.vector_math import InstructionSet

# The levels of x86-64.
_LEVELS = {
    "x86-64": InstructionSet("sse2", 16, {}, has_fma=False),
    "x86-64-v2": InstructionSet("sse4.2", 16, {16: "b"}, has_fma=False),
    "x86-64-v3": InstructionSet("avx2", 32, {32: "d", 16: "b"}, has_fma=True),
    "x86-64-v4": InstructionSet("avx512", 64, {64: "e", 32: "d", 16: "b"}, has_fma=True),
}


def machine() -> Any:
    """Return LLVM's target machine for the chosen processor."""
    return _machine(processor.chosen())


def instruction_set() -> InstructionSet:
    """Return the widest vector instruction set of the chosen processor."""
    return _LEVELS.get(processor.chosen()) or _own_instruction_set()


@functools.cache
def _machine(cpu: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_default_triple())
    is_own = cpu == processor.NATIVE
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name() if is_own else cpu,
        features=llvm.get_host_cpu_features().flatten() if is_own else "",
        opt=3,
        reloc="pic",
        codemodel="default",
    )


@functools.lru_cache(maxsize=1)
def _own_instruction_set() -> InstructionSet:
    features = llvm.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512dq") and features.get("avx512bw"):
        return InstructionSet("avx512", 64, {64: "e", 32: "d", 16: "b"}, has_fma=True)
    if features.get("avx2"):
        return InstructionSet("avx2", 32, {32: "d", 16: "b"}, has_fma=bool(features.get("fma")))
    if features.get("sse4.2"):
        return InstructionSet("sse4.2", 16, {16: "b"}, has_fma=False)
    if features.get("neon"):
        return InstructionSet("neon", 16, {}, has_fma=True)
    return InstructionSet("baseline", 16, {}, has_fma=False)


def pass_builder(level: int, **tuning: bool) -> Any:
    """Return LLVM's passes of an optimisation level for the chosen processor.

    Raises
    ------
    BuildError
        This version of llvmlite lacks the functions for that.
    """
    if not hasattr(llvm, "create_pass_builder"):
        raise BuildError(f"llvmlite {llvmlite.__version__} is too old; see `python -m pykernels doctor`")
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    for name, value in tuning.items():
        setattr(options, name, value)
    return llvm.create_pass_builder(machine(), options)


def optimise(module: Any, *, level: int = 3) -> None:
    """Run LLVM's passes over a module."""
    passes = pass_builder(level, loop_vectorization=True, slp_vectorization=True)
    passes.getModulePassManager().run(module, passes)
