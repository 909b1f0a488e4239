"""The passes of PopRT that make sense on any device: most are those of onnxoptimizer, which PopRT has them from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pykernels.base.errors import LoadError
from pykernels.vendors.poprt import models, running
from pykernels.vendors.poprt.passes.base import Pass, register

if TYPE_CHECKING:
    import onnx

__all__: list[str] = []

#: By their names in PopRT, what onnxoptimizer calls them.
_OPTIMIZER = {
    "eliminate_deadend": "eliminate_deadend",
    "eliminate_duplicate_initializer": "eliminate_duplicate_initializer",
    "eliminate_duplicate_nodes": "eliminate_common_subexpression",
    "eliminate_identity": "eliminate_identity",
    "eliminate_nop_arithmetic": "eliminate_nop_with_unit",
    "eliminate_nop_cast": "eliminate_nop_cast",
    "eliminate_nop_expand": "eliminate_nop_expand",
    "eliminate_nop_flatten": "eliminate_nop_flatten",
    "eliminate_nop_if": "eliminate_if_with_const_cond",
    "eliminate_nop_pad": "eliminate_nop_pad",
    "eliminate_nop_reshape": "eliminate_nop_reshape",
    "eliminate_nop_transpose": "eliminate_nop_transpose",
    "eliminate_unused_initializer": "eliminate_unused_initializer",
    "extract_constant_to_initializer": "extract_constant_to_initializer",
    "fuse_bn_into_conv": "fuse_bn_into_conv",
    "fuse_consecutive_squeeze": "fuse_consecutive_squeezes",
    "fuse_consecutive_transpose": "fuse_consecutive_transposes",
    "fuse_consecutive_unsqueeze": "fuse_consecutive_unsqueezes",
    "remove_duplicated_initializer": "eliminate_duplicate_initializer",
    "replace_einsum_with_matmul": "replace_einsum_with_matmul",
    "unique_name_for_nodes": "set_unique_name_for_nodes",
}


class _Optimizer(Pass):
    """A pass of onnxoptimizer."""

    name = ""

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        try:
            import onnxoptimizer
        except ImportError as error:
            raise LoadError(f"passes need onnxoptimizer: pip install 'pykernels[onnx]' ({error})") from error
        return onnxoptimizer.optimize(onnx_model, [self.name])


for _name, _theirs in _OPTIMIZER.items():
    register(_name)(type(_name, (_Optimizer,), {"name": _theirs}))


@register("float_to_half")
class _FloatToHalf(Pass):
    """float16 in place of float32."""

    def __init__(self, skip_op_types: Sequence[str] = ()) -> None:
        self._skipped = skip_op_types

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        return models.to_float16(onnx_model, self._skipped)


@register("model_overview")
class _ModelOverview(Pass):
    """Prints how many nodes of each op type there are."""

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        for op_type, count in sorted(Counter(node.op_type for node in onnx_model.graph.node).items()):
            print(f"{op_type}: {count}")
        return onnx_model


@register("constant_folding")
class _ConstantFolding(Pass):
    """Computes nodes of ONNX's own that depend on nothing else than constants.

    Parameters
    ----------
    max_tensor_size : int
        Of tensors that have more bytes, none is made; -1 for any.
    """

    def __init__(self, max_tensor_size: int = -1) -> None:
        self._most = max_tensor_size

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        from onnx import numpy_helper

        graph = onnx_model.graph
        # Initializers that are inputs as well are defaults of these.
        constant = {"", *(tensor.name for tensor in graph.initializer)} - {value.name for value in graph.input}
        nodes = list(_constant_nodes(graph, constant))
        names = [name for node in nodes for name in node.output if name]
        if not names:
            return onnx_model
        computed = running.compute(onnx_model, nodes, names)
        for node in nodes:
            made = {name: computed[name] for name in node.output if name}
            if all(isinstance(each, np.ndarray) and not 0 <= self._most < each.nbytes for each in made.values()):
                graph.node.remove(node)
                graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in made.items())
        return onnx_model


def _constant_nodes(graph: onnx.GraphProto, constant: set[str]) -> Iterator[onnx.NodeProto]:
    """The nodes that can be computed, in their order; adds their outputs to what is constant."""
    for node in graph.node:
        has_graphs = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
        is_random = node.op_type.startswith("Random") or node.op_type in ("Bernoulli", "Multinomial", "Dropout")
        if node.domain in ("", "ai.onnx") and not has_graphs and not is_random and constant.issuperset(node.input):
            constant.update(node.output)
            yield node
