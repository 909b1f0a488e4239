"""The shape function of SoftThreshold: the output has the shape of the input."""

from onnx import helper
from poprt.passes import ShapeFunc, get_dtype, get_shape, register_shape_func


@register_shape_func("SoftThreshold")
class SoftThresholdShape(ShapeFunc):
    def __call__(self, model, node):
        dtype, shape = get_dtype(model.graph, node.input[0]), get_shape(model.graph, node.input[0])
        if not (dtype and shape):
            return model, False
        return self.update_value_info(model, helper.make_tensor_value_info(node.output[0], dtype, shape)), True
