"""Optimise the LLVM IR of a kernel and all that it calls: LLVM's passes, and ours over the printed text."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from pykernels.build import linking
from pykernels.kernel.emit import target
from pykernels.kernel.numba import hooks
from pykernels.kernel.numba.llvm_ir import counting, fast_math, reductions
from pykernels.kernel.numba.llvm_ir.loop_math import LoopMath


def optimise(module: Any, *, is_fast: bool) -> tuple[Any, LoopMath]:
    """Return the optimised module of a kernel, and the math functions in it.

    Parameters
    ----------
    is_fast : bool
        Whether the kernel asks for fast math.
    """
    # With one visible function, LLVM removes everything that it does not reach.
    _hide(module)
    math = LoopMath()
    _simplify(module)
    code = str(module)
    rewrites = {"counting": counting.let_inline, "reductions": reductions.mark, "fast_math": fast_math.mark}
    for name, rewrite in {**rewrites, "loop_math": math.name}.items():
        if hooks.is_on(f"llvm_ir.{name}") and (is_fast or name != "fast_math"):
            code = rewrite(code)
    module = llvm.parse_assembly(code)
    target.optimise(module)
    code, bodies = math.define(str(module))
    module = llvm.parse_assembly(code)
    module.link_in(llvm.parse_assembly(bodies))
    _hide(module)
    _write_out(module)
    return module, math


def _hide(module: Any) -> None:
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != linking.ENTRY:
            value.linkage = "internal"


def _simplify(module: Any) -> None:
    """Bring a module into the form that rewriting expects, without numba's redundant reference counting."""
    builder = target.pass_builder(1, loop_vectorization=False, slp_vectorization=False, loop_unrolling=False)
    passes = builder.getModulePassManager()
    passes.add_refprune_pass()
    passes.run(module, builder)


def _write_out(module: Any) -> None:
    """Inline the functions with the attribute ``alwaysinline``."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, target.pass_builder(1))
