"""ONNX with the module ``onnx.mapping``, which it has removed."""

from __future__ import annotations

import functools
import types

import numpy as np

#: The dtypes that MXNet has in common with ONNX.
_DTYPES = ("bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64")


@functools.cache
def old_onnx() -> types.ModuleType:
    """Return a module with all that ONNX has, and with `mapping`."""
    import onnx

    module = types.ModuleType("onnx", onnx.__doc__)
    vars(module).update({**vars(onnx), "mapping": mapping()})
    return module


@functools.cache
def mapping() -> types.ModuleType:
    """Return the module that maps dtypes to the numbers of ONNX's types, and back."""
    from onnx import helper

    module = types.ModuleType("onnx.mapping", __doc__)
    numbers = {np.dtype(name): helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in _DTYPES}
    vars(module).update(
        NP_TYPE_TO_TENSOR_TYPE=numbers, TENSOR_TYPE_TO_NP_TYPE={number: dtype for dtype, number in numbers.items()}
    )
    return module
