"""Folders of ops of complex numbers, whose gradients follow PyTorch's convention."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np

API = """
import pykernels

_call = pykernels.user_op_builder("{name}").Op("{name}_forward").Output("y").Function({inputs})


def {name}(*arrays):
    return _call(*arrays)
"""


DEFINITION = """
import pykernels


class Op(pykernels.CustomOpProp):
    arguments = {inputs}
    outputs = ["y"]
    {dtypes}

    def infer_shape(self, in_shape):
        return in_shape[:1] * len(in_shape), in_shape[:1], []
"""


class ComplexOp(NamedTuple):
    inputs: tuple[str, ...]
    dtypes: dict[str, str]
    kernel: str


OPS = {
    # Holomorphic in both operands, which may be real.
    "times": ComplexOp(
        ("a", "b"),
        {"a": "inexact"},
        """
        def forward(args):
            a, b = args
            return a * b

        def backward(args):
            dy, a, b, _ = args
            return dy * np.conj(b), dy * np.conj(a)
        """,
    ),
    # From complex numbers to real ones.
    "size": ComplexOp(
        ("x",),
        {"x": "complex", "y": "floating"},
        """
        def forward(args):
            return np.abs(args[0])

        def backward(args):
            dy, x, y = args
            return dy * x / y
        """,
    ),
    # From real numbers to complex ones.
    "polar": ComplexOp(
        ("r", "angle"),
        {"r": "floating", "y": "complex"},
        """
        def forward(args):
            r, angle = args
            return r * np.exp(1j * angle)

        def backward(args):
            dy, r, angle, _ = args
            turned = np.exp(-1j * angle) * dy
            return turned.real, r * turned.imag
        """,
    ),
    # Depends on the conjugate, too.
    "mixed": ComplexOp(
        ("x",),
        {"x": "complex"},
        """
        def forward(args):
            (x,) = args
            return x * x + 2j * np.conj(x) + x.real

        def backward(args):
            dy, x, _ = args
            return dy * np.conj(2 * x) + 2j * np.conj(dy) + dy.real
        """,
    ),
}


def write_ops(folder: Path) -> Path:
    """Write all ops, and `unnamed`, whose definition does not name complex dtypes."""
    unnamed = ComplexOp(
        ("x",), {}, "def forward(args):\n    return args[0] * 2\n\ndef backward(args):\n    return args[0]\n"
    )
    for name, op in {**OPS, "unnamed": unnamed}.items():
        made = folder / name
        made.mkdir(parents=True)
        (made / f"{name}_py_kernel.py").write_text("import numpy as np\n\n" + textwrap.dedent(op.kernel))
        dtypes = f"dtypes = {op.dtypes}" if op.dtypes else ""
        (made / f"{name}_py_def.py").write_text(DEFINITION.format(inputs=op.inputs, dtypes=dtypes))
        inputs = ", ".join(f'"{each}"' for each in op.inputs)
        (made / f"{name}_py_api.py").write_text(API.format(name=name, inputs=inputs))
    return folder


def arguments(name: str, dtype: str, *shape: int, seed: int = 0) -> list[np.ndarray]:
    """Arrays that an op takes; those of floating-point numbers have the precision of `dtype`."""
    rng, op = np.random.default_rng(seed), OPS[name]
    first = next(iter(op.dtypes.values()))
    made = []
    for each in op.inputs:
        numbers = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        is_complex = op.dtypes.get(each, first) in ("complex", "inexact")
        made.append(numbers.astype(dtype) if is_complex else numbers.astype(dtype).real.copy())
    return made
