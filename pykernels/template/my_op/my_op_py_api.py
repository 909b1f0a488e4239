import pykernels


def my_op(x, scale=1.0):
    """``scale * x * x``, element by element."""
    return (
        pykernels.user_op_builder("my_op")
        .Op("my_op_forward")
        .Input("x", [x])
        .Output("y")
        .Attr("scale", scale)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
    )
