"""Import this module before MXNet 1.9, and MXNet works with a Python, a NumPy and an ONNX that lack what it uses.

`load_ops` and ``python -m pykernels run`` import it themselves. These packages stay as they are for everyone else.
"""

from __future__ import annotations

from pykernels.compat import numpy_names, onnx_names, own_imports, versions

own_imports.provide(
    "mxnet",
    own_imports.Needs(
        modules={
            "numpy": numpy_names.old_numpy,
            "distutils.version": versions.module,
            "onnx": onnx_names.old_onnx,
            "onnx.mapping": onnx_names.mapping,
        },
        # These make texts of the attributes of operators: (2, 3), also of NumPy's numbers.
        builtins={f"mxnet._ctypes.{kind}": {"str": numpy_names.old_text} for kind in ("ndarray", "symbol")},
        edits={
            "mxnet.ndarray.utils": [("spsp.csr.csr_matrix", "spsp.csr_matrix")],
            # NumPy calls an operator of arrays by the name of its function, and np.true_divide is now called divide.
            "mxnet.numpy_dispatch_protocol": [("_UFUNC_DICT[op_name]", "_UFUNC_DICT[getattr(_np, op_name).__name__]")],
            "mxnet.recordio": [(".tostring()", ".tobytes()")],
        },
    ),
)
