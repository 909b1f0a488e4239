"""What files of ``--custom_shape_inference`` import, as PopRT 1.1 and newer call it."""

from __future__ import annotations

from pykernels.compat.poprt.passes.onnx_helper import get_dtype, get_shape
from pykernels.compat.poprt.passes.shape_inference import ShapeInference as ShapeFunc
from pykernels.compat.poprt.passes.shape_inference import register as register_shape_func

__all__ = ["ShapeFunc", "get_dtype", "get_shape", "register_shape_func"]
