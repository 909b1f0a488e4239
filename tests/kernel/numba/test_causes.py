"""The reasons that kernels, or calls in them, run as Python: the line, the cause, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pykernels.kernel.numba import types
from pykernels.kernel.numba.hooks import NotNative
from pykernels.kernel.numba.python_calls import calling
from pykernels.kernel.read.signature import Signature, TensorType
from pykernels.kernel.read.source import KernelSource

TENSORS = (TensorType(np.dtype("f4"), 2), TensorType(np.dtype("f8"), 2), TensorType(np.dtype("i8"), 2))
SIGNATURE = Signature(inputs=TENSORS, outputs=TENSORS[:1])
COMPILED = "compute it from functions that are compiled"

# One of each group: a mistake, or an option that is not compiled, in line 8, and what is said of it.
CAUSES = {
    "products": ("x @ y[0, 0]", "@ is not compiled for float32[:, :], float64; both operands must be arrays"),
    "einsum": ("np.einsum('ij,jk->il', x, y)", "np.einsum is not compiled, and raises ValueError in Python: "),
    "joining": ("np.concatenate((x, y[0]))", "the arrays have other numbers of axes"),
    "blocks": ("np.block([x, [y]])", "blocks are arrays and numbers, all at the same depth"),
    "padding": ("np.pad(x, 1, mode='linear_ramp')", f"np.pad: it is not compiled for these arguments; {COMPILED}"),
    "repeating": ("np.tile(x, 2.5)", "'float' object cannot be interpreted as an integer; correct the call"),
    "grids": ("np.meshgrid(x, y)[0]", "np.meshgrid is compiled for vectors; pass x.ravel()"),
    "axes": ("np.flip(x, (0, 0))", "an axis occurs twice"),
    "squeeze": ("x.squeeze()", "the number of axes of its result depends on values or lengths; name the axes: "),
    "diagonals": ("np.trace(x, axis1=0, axis2=0)", "an axis occurs twice"),
    "ordering": ("np.argsort(x, kind='bogus')", "kind= is one of NumPy's"),
    "quantiles": (
        "np.quantile(y, 0.5, 1, method='hazen')",
        f"np.quantile: it is not compiled for these arguments; {COMPILED}",
    ),
    "accumulating": ("np.cumsum(x, axis=(0, 1))", "cumsum only suppports integer axis"),
    "reductions": ("x.sum(axes=1)", "np.sum is not compiled, and raises TypeError in Python: "),
    "methods of functions": (
        "np.subtract.reduce(x)",
        "subtract.reduce is not compiled for float32[:, :]; write a loop",
    ),
    "norms": ("np.linalg.norm(x, 2)", "np.linalg.norm: a norm of order 2 for 2 axes is not compiled; call it once"),
    "masks": ("x[x]", "an index is float32[:, :]; use whole numbers, slices, masks, or arrays of these"),
    "assignments": ("w[w > 0] = [1, 2]", "a list is assigned to elements; make it an array: np.array([...])"),
    "along axes": ("np.take_along_axis(x, x, 1)", "The indices array must contain integers"),
    "special functions": ("special.logsumexp(x, return_sign=True)[0]", "logsumexp: it is not compiled for these"),
}


@pytest.mark.parametrize("group", CAUSES)
def test_the_cause_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    line, cause = CAUSES[group]
    last = f"{line}\n    return w" if group == "assignments" else f"return {line}"
    text = (
        "import numpy as np\nfrom scipy import special\n\ndef forward(args):\n    x, y, i = args\n"
        f"    b = x.max(axis=1, keepdims=True)\n    w = x / b\n    {last}\n"
    )
    path = tmp_path / "op_py_kernel.py"
    path.write_text(text)
    monkeypatch.setattr(calling, "_emitted", [])
    try:
        types.type_kernel(KernelSource(path).functions["forward"], SIGNATURE)
        said = "; ".join(f"numba: {call.where}: {call.name}: {call.reason}" for call in calling._emitted)
    except NotNative as refusal:
        said = str(refusal)
    said = said.replace(f"{tmp_path}/", "")
    assert said.startswith("numba: op_py_kernel.py:8: ") and cause in said
