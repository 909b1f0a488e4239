"""Files of shape functions, in both of PopRT's spellings."""

from __future__ import annotations

_IMPORTS = {
    "new": "from poprt.passes import ShapeFunc, get_dtype, get_shape, register_shape_func",
    "old": """from poprt.passes.onnx_helper import get_dtype, get_shape
from poprt.passes.shape_inference import ShapeInference as ShapeFunc, register as register_shape_func""",
}
_FUNCTION = """
import onnx
{imports}


@register_shape_func(["LeakyRelu"])
class LeakyReluShape(ShapeFunc):
    def __init__(self):
        super().__init__()

    def __call__(self, model, node):
        (x,), (y,) = node.input, node.output
        if get_shape(model.graph, y) and get_dtype(model.graph, y):
            return model, True
        shape, dtype = get_shape(model.graph, x), get_dtype(model.graph, x)
        if not (shape and dtype) or 0 in shape:
            return model, False
        model = self.update_value_info(model, onnx.helper.make_tensor_value_info(y, dtype, shape))
        return onnx.shape_inference.infer_shapes(model), True
"""
NEW, OLD = (_FUNCTION.format(imports=_IMPORTS[age]) for age in ("new", "old"))
