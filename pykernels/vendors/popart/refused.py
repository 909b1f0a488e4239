"""The headers of Graphcore's libraries that are not provided: including one stops the compiler with a message."""

from __future__ import annotations

_WHAT = {
    "codelets: write the computation with popops expressions": [
        *(f"{library}/codelets.hpp" for library in ("poplin", "popnn", "popops", "poprand", "popsparse")),
        *("poplar/Vertex.hpp", "poplar/VertexIntrospector.hpp", "poplar/CodeletFileType.hpp"),
        *("poputil/VertexTemplates.hpp", "popops/ElementWiseUtil.hpp"),
    ],
    "engine of its own: ONNX Runtime runs the ops": [
        *("poplar/Engine.hpp", "poplar/DeviceManager.hpp", "poplar/Device.hpp", "poplar/IPUModel.hpp"),
        *("popart/session.hpp", "popart/devicemanager.hpp", "popart/builder.hpp", "popart/stepio.hpp"),
    ],
    "graph of ops to be changed": [
        *("popart/ir.hpp", "popart/graph.hpp", "popart/transforms/transform.hpp", "popart/patterns/pattern.hpp"),
        *("popart/patterns/patterns.hpp", "popart/optimizer.hpp", "popart/topocons.hpp", "popart/tensors.hpp"),
    ],
    "random numbers": ["poprand/RandomGen.hpp"],
    "16-bit floats besides tensors": ["popart/half.hpp"],
    "matrix products and convolutions": [
        *("poplin/MatMul.hpp", "poplin/Convolution.hpp", "poplin/ConvUtil.hpp", "poplin/Cholesky.hpp"),
        *("poplin/FullyConnected.hpp", "poplin/MultiConvolution.hpp", "poplin/Norms.hpp", "poplin/TriangularSolve.hpp"),
    ],
    "layers of networks": [
        *("popnn/BatchNorm.hpp", "popnn/GroupNorm.hpp", "popnn/InstanceNorm.hpp", "popnn/LayerNorm.hpp"),
        *("popnn/Gru.hpp", "popnn/Lstm.hpp", "popnn/Rnn.hpp", "popnn/LogSoftmax.hpp", "popnn/Loss.hpp"),
        *("popnn/NonLinearity.hpp", "popnn/Norms.hpp", "popnn/Pooling.hpp"),
    ],
    "sparse matrices": ["popsparse/MatMul.hpp", "popsparse/FullyConnected.hpp", "popsparse/Embedding.hpp"],
    "communication between devices": ["gcl/Collectives.hpp", "popops/Collectives.hpp"],
    "operations but element-wise ones": [
        *("popops/AllTrue.hpp", "popops/CircBuf.hpp", "popops/DynamicSlice.hpp", "popops/Encoding.hpp"),
        *("popops/Gather.hpp", "popops/Loop.hpp", "popops/NaN.hpp", "popops/NormaliseImage.hpp", "popops/Pad.hpp"),
        *("popops/Rearrange.hpp", "popops/Reduce.hpp", "popops/Scatter.hpp", "popops/SelectScalarFromRows.hpp"),
        *("popops/SequenceSlice.hpp", "popops/Sort.hpp", "popops/TopK.hpp", "popops/UpdateScalarInRows.hpp"),
    ],
    "ops of PopART to derive from: derive from popart::Op": [
        *("popart/op/elementwise.hpp", "popart/op/nll.hpp", "popart/op/loss.hpp", "popart/op/matmul.hpp"),
        *("popart/popx/op/elementwisex.hpp", "popart/popx/popopx.hpp"),
    ],
}
#: What each header that is not provided would declare.
REFUSED = {header: what for what, headers in _WHAT.items() for header in headers}
