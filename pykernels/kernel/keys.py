"""What the machine code of kernels depends on: their keys in the cache."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from pykernels import cache
from pykernels.kernel import linking, vector_math
from pykernels.kernel.environment import environment
from pykernels.kernel.shipping import kernel_parts
from pykernels.kernel.signature import Signature
from pykernels.kernel.source import KernelFunction

__all__ = ["compiled_key", "elementwise_key", "fused_key"]

# What decides on the code of elementwise kernels: part of their keys, so that an edit here compiles them anew.
_GENERATOR = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("construction", "elementwise", "evaluation", "expression", "expression_evaluation", "fast_math"),
        *("functions", "inline_math", "inline_steps", "inline_tables", "linking", "number_checks", "number_rules"),
        *("substitutes", "target", "vector_code"),
        *("vector_divisions", "vector_math", "vector_operations", "vector_writer"),
    )
)
# The same for fused kernels.
_FUSING = _GENERATOR + tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("array_evaluation", "array_nodes", "axes", "folds", "fused", "fused_code", "graph", "masked_memory"),
        *("placing", "planning", "stage_code", "stages", "view_evaluation"),
    )
)
# The same for kernels that numba compiles.
_COMPILER = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in (
        *("adapter", "bounds", "codegen", "copying", "counting", "fast_math", "inline_math", "inline_steps"),
        *("inline_tables", "iterations", "lending", "linking", "loop_functions", "loop_math", "lowering", "moving"),
        *("native", "numba_errors", "numpy_numbers", "prange", "python_numbers", "raising", "reductions"),
        *("reshaping", "separation", "slower", "target", "typing", "vector_math", "vector_writer", "weak"),
    )
)


def elementwise_key(function: KernelFunction, signature: Signature, filename: str) -> str:
    """Of an elementwise kernel."""
    return _key(function, signature, filename, (), _GENERATOR, "elementwise")


def fused_key(function: KernelFunction, signature: Signature, filename: str) -> str:
    """Of a fused kernel."""
    return _key(function, signature, filename, (), _FUSING, "fused")


def compiled_key(function: KernelFunction, signature: Signature, filename: str, output_names: Sequence[str]) -> str:
    """Of a kernel that numba compiles."""
    return _key(function, signature, filename, output_names, _COMPILER, "kernel_runtime", "copying")


def _key(
    function: KernelFunction,
    signature: Signature,
    filename: str,
    names: Sequence[str],
    generator: tuple[Path, ...],
    *runtime: str,
) -> str:
    return cache.digest(
        [
            *kernel_parts(function, signature),
            *environment(),
            filename,
            *names,
            _digest(generator),
            *(path for part in runtime for path in linking.RUNTIME[part]),
            vector_math.identity(),
        ]
    )


@functools.cache
def _digest(files: tuple[Path, ...]) -> str:
    return cache.digest(files)
