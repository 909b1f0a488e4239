"""The kernel of a signature: from the cache, compiled into it, or as Python where numba cannot."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import platform
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels import abi, cache, toolchain
from pykernels.errors import BuildError, CompileFailed, KernelError, PykernelsWarning
from pykernels.kernel import adapter, blas, python_form, reference
from pykernels.kernel.signature import Signature, group_shapes
from pykernels.kernel.source import KernelFunction
from pykernels.paths import CPP_DEFS

__all__ = ["BuiltKernel", "build_kernel"]


class BuiltKernel:
    """A kernel ready to run.

    Attributes
    ----------
    struct : abi.Kernel
        What hosts get.
    reason : str or None
        Why it runs as Python, if it does.
    """

    def __init__(
        self,
        function: KernelFunction,
        op_name: str,
        signature: Signature,
        output_names: Sequence[str],
        entry: Any,
        reason: str | None,
        id_: int,
    ) -> None:
        self.function = function
        self.op_name = op_name
        self.signature = signature
        self.output_names = tuple(output_names)
        self.reason = reason
        self._entry = entry  # keeps the library or the callback alive
        positions = [position for _, position in signature.scalars]
        self.struct = abi.Kernel(
            run=ctypes.cast(entry, ctypes.c_void_p),
            flags=abi.KernelFlag.PYTHON if reason else 0,
            n_scalars=len(positions),
            scalars=(ctypes.c_int32 * max(1, len(positions)))(*positions),
            id=id_,
        )

    def __repr__(self) -> str:
        form = "Python" if self.reason else "native"
        return f"<{form} kernel {self.function.name} of {self.op_name} {self.signature}>"


def build_kernel(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    id_: int,
) -> BuiltKernel:
    """The kernel for a signature; compiled, unless it is in the cache already.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Shapes of the tensors that it is first needed for, on which the plain NumPy run is tried when the types
        alone do not tell whether the kernel is right.

    Raises
    ------
    KernelError
        The kernel cannot be right.
    CacheError
        The compiled kernel cannot be stored.
    """
    try:
        entry = cache.build(
            "kernels",
            _key(function, signature, output_names),
            "kernel.so",
            lambda path: _compile(function, op_name, signature, output_names, shapes, path),
        )
        reason = entry.facts["reason"]
    except CompileFailed:
        raise
    except BuildError as error:
        # No compiler: a passing state of this machine, not a fact about the kernel to keep in the cache.
        entry, reason = None, str(error)
    if reason is not None or entry is None:
        warnings.warn(
            f"op {op_name!r}: {function.name} runs as Python, which is slower and holds the GIL, because {reason}",
            PykernelsWarning,
            stacklevel=2,
        )
        wrapped = python_form.wrap(function, op_name, signature, output_names)
        return BuiltKernel(function, op_name, signature, output_names, wrapped, reason, id_)
    library = ctypes.CDLL(str(entry.path))
    if entry.facts["blas"]:
        blas.attach(library)
    return BuiltKernel(function, op_name, signature, output_names, library.pk_kernel, None, id_)


def _compile(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    path: Path,
) -> dict[str, Any]:
    """Write the shared object, or an empty file for a kernel that must run as Python, so that it is tried once."""
    toolchain.compiler()  # before numba's work, which would be in vain
    from pykernels.kernel import native

    try:
        facts = native.compile_kernel(function, signature, output_names, path)
    except native.NotNative as error:
        path.write_bytes(b"")
        return {"reason": str(error)}
    except KernelError as error:
        # The plain run tells the same mistake in NumPy's terms, if it can.
        _run_plain(function, op_name, signature, output_names, shapes)
        raise KernelError(f"op {op_name!r}: {error}") from error
    if facts["widened"]:
        try:
            _run_plain(function, op_name, signature, output_names, shapes)
        except KernelError as error:
            # An exception of the kernel's own may come from the values of the trial, which nobody has asked for.
            if error.__cause__ is None:
                raise
    return {"reason": None, "blas": facts["blas"]}


def _run_plain(
    function: KernelFunction,
    op_name: str,
    signature: Signature,
    output_names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Try the kernel by plain NumPy on ones; `KernelError` if it fails, or its results do not fit the definition."""
    arrays = (np.ones(shape, tensor.dtype) for shape, tensor in zip(shapes, signature.tensors))
    args = group_shapes(signature.inputs, arrays)
    outs = group_shapes(signature.outputs, arrays)
    keywords: dict[str, Any] = dict(signature.constants)
    for name, _ in signature.scalars:
        keywords[name] = True if name in signature.flags else 1.0 if name in signature.reals else 1
    reference.run(function, op_name, args, outs, output_names, keywords, signature.mutable)


def _key(function: KernelFunction, signature: Signature, output_names: Sequence[str]) -> str:
    return cache.digest(
        [
            str(adapter.VERSION),
            function.name,
            *function.fingerprint,
            str(signature),
            repr(signature.scalars),
            repr(sorted(signature.reals)),
            *output_names,
            CPP_DEFS / "runtime" / "kernel_runtime.cpp",
            *_environment(),
        ]
    )


@functools.lru_cache(maxsize=1)
def _environment() -> tuple[str, ...]:
    """The versions and the processor that compiled code depends on, without importing any of them."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numba", "llvmlite", "numpy")]
    return (*versions, platform.python_version(), platform.machine(), _processor())


def _processor() -> str:
    """Its model and instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    telling = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(telling)}))
