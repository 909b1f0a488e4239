def forward(args, *, bias):
    data, weight = args
    return data @ weight.T + bias


def backward(args):
    data, weight, dy = args
    return dy @ weight, dy.T @ data
