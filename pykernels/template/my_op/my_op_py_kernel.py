# One function for each op type of the definition. `args` are NumPy arrays, in the order of the definition's
# inputs; return the output, or a tuple of outputs. Attributes come by name.


def forward(args, *, scale):
    (x,) = args
    return scale * x * x


def backward(args, *, scale):
    x, dy = args
    return 2 * scale * x * dy
