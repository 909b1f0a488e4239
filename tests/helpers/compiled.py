"""Kernels built and run through the C ABI, beside their plain NumPy run."""

from __future__ import annotations

import ctypes
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import abi
from pykernels.kernel import reference, service
from pykernels.kernel.build import BuiltKernel, build_kernel
from pykernels.kernel.read.signature import Signature, TensorType
from pykernels.kernel.read.source import KernelFunction, KernelSource


def kernel_of(folder: Path, text: str, name: str = "forward") -> KernelFunction:
    """The function of a kernel file with this text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "op_py_kernel.py"
    path.write_text("import math\nimport numpy as np\n" + textwrap.dedent(text))
    return KernelSource(path).functions[name]


def signature_of(
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    numbers: Mapping[str, float | bool] = {},
    constants: Mapping[str, Any] = {},
) -> Signature:
    """The signature of a kernel for these arrays and attributes."""
    return Signature(
        tuple(TensorType(a.dtype, a.ndim) for a in inputs),
        tuple(TensorType(a.dtype, a.ndim) for a in outputs),
        tuple((name, at) for at, name in enumerate(numbers)),
        frozenset(name for name, value in numbers.items() if isinstance(value, float)),
        frozenset(name for name, value in numbers.items() if isinstance(value, bool)),
        tuple(constants.items()),
    )


def build(
    kernel: KernelFunction,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    numbers: Mapping[str, float | bool] = {},
    constants: Mapping[str, Any] = {},
) -> BuiltKernel:
    """Build a kernel for these arrays and attributes."""
    names = [f"y{i}" if len(outputs) > 1 else "y" for i in range(len(outputs))]
    shapes = [a.shape for a in (*inputs, *outputs)]
    signature = signature_of(inputs, outputs, numbers, constants)
    return build_kernel(kernel, "op_forward", signature, names, shapes, numbers)


def run(
    built: BuiltKernel,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    numbers: Mapping[str, float | bool] = {},
    elements: tuple[int, int] | None = None,
) -> str | None:
    """Call a built kernel, on a range of elements or on all; gives what went wrong, if anything."""
    arrays = [*inputs, *outputs]
    data = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    dims = [n for a in arrays for n in a.shape]
    sizes = (ctypes.c_int64 * max(1, len(dims)))(*dims)
    given = [numbers[name] for name, _ in built.signature.scalars]
    packed = b"".join(np.array(v, np.float64 if isinstance(v, float) else np.int64).tobytes() for v in given)
    scalars = ctypes.create_string_buffer(packed, max(8, len(packed)))
    detail = (ctypes.c_int64 * abi.DETAIL_SIZE)()
    begin, end = elements or (0, outputs[0].size if outputs else 0)
    entry = ctypes.cast(built.struct.run, abi.KernelFn)
    status = entry(built.struct, data, sizes, ctypes.addressof(scalars), begin, end, detail)
    if status == abi.Status.OK:
        return None
    return service.explain(built, status, data, sizes, ctypes.addressof(scalars), detail) or None


def plain(
    kernel: KernelFunction,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    numbers: Mapping[str, float | bool] = {},
    constants: Mapping[str, Any] = {},
) -> list[np.ndarray]:
    """What NumPy computes."""
    results = [np.empty_like(o) for o in outputs]
    names = [f"y{i}" for i in range(len(outputs))]
    reference.run(kernel, "op_forward", tuple(inputs), tuple(results), names, {**numbers, **constants})
    return results
