"""The passes of PopRT that make sense on any device; most come from onnxoptimizer, as in PopRT."""

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

#: onnxoptimizer's names of passes by PopRT's names.
_OPTIMIZER = {
    **{
        name: name
        for name in (
            *("eliminate_deadend", "eliminate_duplicate_initializer", "eliminate_identity", "eliminate_nop_cast"),
            *("eliminate_nop_expand", "eliminate_nop_flatten", "eliminate_nop_pad", "eliminate_nop_reshape"),
            *("eliminate_nop_transpose", "eliminate_unused_initializer", "extract_constant_to_initializer"),
            *("fuse_bn_into_conv", "replace_einsum_with_matmul"),
        )
    },
    "eliminate_duplicate_nodes": "eliminate_common_subexpression",
    "eliminate_nop_arithmetic": "eliminate_nop_with_unit",
    "eliminate_nop_if": "eliminate_if_with_const_cond",
    "fuse_consecutive_squeeze": "fuse_consecutive_squeezes",
    "fuse_consecutive_transpose": "fuse_consecutive_transposes",
    "fuse_consecutive_unsqueeze": "fuse_consecutive_unsqueezes",
    "remove_duplicated_initializer": "eliminate_duplicate_initializer",
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
    """Converts float32 to float16."""

    def __init__(self, skip_op_types: Sequence[str] = ()) -> None:
        self._skipped = skip_op_types

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        return models.to_float16(onnx_model, self._skipped)


@register("model_overview")
class _ModelOverview(Pass):
    """Prints the number of nodes of each op type."""

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        for op_type, count in sorted(Counter(node.op_type for node in onnx_model.graph.node).items()):
            print(f"{op_type}: {count}")
        return onnx_model


@register("constant_folding")
class _ConstantFolding(Pass):
    """Computes nodes of ONNX's own op types that depend only on constants."""

    def __init__(self, max_tensor_size: int = -1) -> None:
        self._most = max_tensor_size  # the largest size in bytes of a computed tensor; -1 for any size

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        from onnx import numpy_helper

        graph = onnx_model.graph
        # An initializer that is also an input is only the input's default.
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
    """Yield the nodes that can be computed, in order; add their outputs to `constant`."""
    for node in graph.node:
        has_graphs = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
        is_random = node.op_type.startswith("Random") or node.op_type in ("Bernoulli", "Multinomial", "Dropout")
        if node.domain in ("", "ai.onnx") and not has_graphs and not is_random and constant.issuperset(node.input):
            constant.update(node.output)
            yield node
