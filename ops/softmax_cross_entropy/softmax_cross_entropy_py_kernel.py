import numpy as np


def forward(args):
    logits, labels = args
    rows, classes = logits.shape
    loss, probability = np.empty(rows, logits.dtype), np.empty_like(logits)
    for i in range(rows):
        label = _class_of(labels[i], i, classes)
        # Subtracting the largest element leaves the result as it is, and exp cannot overflow.
        x = logits[i] - logits[i].max()
        e = np.exp(x)
        total = e.sum()
        probability[i] = e / total
        loss[i] = np.log(total) - x[label]
    return loss, probability


def backward(args):
    labels, probability, dloss, dprobability = args
    dlogits = np.empty_like(probability)
    for i in range(len(probability)):
        p, dp = probability[i], dprobability[i]
        dlogits[i] = p * (dloss[i] + dp - (p * dp).sum())
        dlogits[i, int(labels[i])] -= dloss[i]
    return dlogits


def backward_of_sum(args):
    """The gradient of the sum of all losses."""
    labels, probability = args
    dlogits = probability.copy()
    for i in range(len(probability)):
        dlogits[i, int(labels[i])] -= 1
    return dlogits


def _class_of(label, i, classes):
    number = int(label)
    if number != label:
        raise ValueError(f"labels[{i}] is no whole number")
    if number < 0 or number >= classes:
        raise IndexError(f"labels[{i}] is {number}, but the classes are 0 to {classes - 1}")
    return number
