"""The op of squash_op_impl.cpp, as a function of PopXL's tensors."""

import cppimport.import_hook  # noqa: F401  (compiles the module below)
import squash_op_impl
from popxl.context import get_current_context, op_debug_context
from popxl.ops.utils import check_in_graph
from popxl.tensor import Tensor


@op_debug_context
def squash(x: Tensor, steepness: float = 1.0) -> Tensor:
    """Return ``x / (1 + steepness * abs(x))``, element by element."""
    context = get_current_context()
    graph = context.graph
    check_in_graph(graph, x=x)
    op = squash_op_impl.Squash.create_op_in_graph(
        graph=graph._pb_graph,
        inputs={0: x.id},
        outputs={0: graph._create_tensor_id("squash_out")},
        params=squash_op_impl.SquashParams(steepness=steepness),
        settings=context._get_op_settings("squash"),
    )
    context._op_created(op)
    return Tensor._from_pb_tensor(op.outTensor(0))
