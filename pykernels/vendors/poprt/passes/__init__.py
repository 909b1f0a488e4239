"""Passes and shape functions, as users' files import them from PopRT 1.1 and newer."""

from __future__ import annotations

from pykernels.vendors.poprt.passes import builtin as _builtin  # noqa: F401  importing it registers its passes
from pykernels.vendors.poprt.passes.base import Pass, PassManager, get_pass, get_registered_passes, register
from pykernels.vendors.poprt.passes.onnx_helper import get_dtype, get_shape
from pykernels.vendors.poprt.passes.shape_inference import ShapeInference as ShapeFunc
from pykernels.vendors.poprt.passes.shape_inference import register as register_shape_func

__all__ = [
    "Pass",
    "PassManager",
    "ShapeFunc",
    "get_dtype",
    "get_pass",
    "get_registered_passes",
    "get_shape",
    "register",
    "register_shape_func",
]
