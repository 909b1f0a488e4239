def forward(args):
    (x,) = args
    return -x


def backward(args):
    (dy,) = args
    return -dy
