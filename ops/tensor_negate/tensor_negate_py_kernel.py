def forward(args):
    (x,) = args
    return -x


# Derived from forward by "python -m pykernels derive" (089ef978ad0a). If you edit it, remove this line.
def backward(args):
    (dy,) = args
    return -dy


# Derived from backward by "python -m pykernels derive --forward-mode" (4ca91edace67). If you edit it, remove this line.
def tangent(args):
    (tx,) = args
    return -tx
