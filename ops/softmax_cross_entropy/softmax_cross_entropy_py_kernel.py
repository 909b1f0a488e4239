import numpy as np

import pykernels


def forward(args, outs):
    (logits, labels), (loss, probability) = args, outs
    rows, classes = logits.shape
    for i in pykernels.prange(rows):
        label = _class_of(labels[i], i, classes)
        # Subtracting the largest element does not change the result, and exp cannot overflow.
        top = logits.dtype.type(-np.inf)
        for k in range(classes):
            top = max(top, logits[i, k])
        total = logits.dtype.type(0)
        for k in range(classes):
            e = np.exp(logits[i, k] - top)
            probability[i, k] = e
            total += e
        for k in range(classes):
            probability[i, k] /= total
        loss[i] = np.log(total) - (logits[i, label] - top)


def backward(args, outs):
    (labels, probability, dloss, dprobability), (dlogits,) = args, outs
    rows, classes = probability.shape
    for i in pykernels.prange(rows):
        along = probability.dtype.type(0)
        for k in range(classes):
            along += probability[i, k] * dprobability[i, k]
        for k in range(classes):
            dlogits[i, k] = probability[i, k] * (dloss[i] + dprobability[i, k] - along)
        dlogits[i, int(labels[i])] -= dloss[i]


def backward_of_sum(args, outs):
    """The gradient of the sum of all losses."""
    (labels, probability), (dlogits,) = args, outs
    rows, classes = probability.shape
    for i in pykernels.prange(rows):
        for k in range(classes):
            dlogits[i, k] = probability[i, k]
        dlogits[i, int(labels[i])] -= 1


def backward_backward(args):
    labels, probability, dloss, dprobability, gdlogits = args
    product = gdlogits * probability
    total = product.sum(axis=-1, keepdims=True)
    along = (probability * dprobability).sum(axis=-1, keepdims=True)
    gprobability = gdlogits * (dloss[:, None] + dprobability - along) - total * dprobability
    gdloss = total[:, 0] - _of_labels(gdlogits, labels)
    return gprobability, gdloss, product - total * probability


def tangent(args):
    labels, probability, tlogits = args
    product = tlogits * probability
    total = product.sum(axis=-1, keepdims=True)
    return total[:, 0] - _of_labels(tlogits, labels), product - total * probability


def _of_labels(values, labels):
    """In each row of `values`, that of the label."""
    return np.where(np.arange(values.shape[-1]) == labels[:, None], values, 0).sum(axis=-1)


def _class_of(label, i, classes):
    number = int(label)
    if number != label:
        raise ValueError(f"labels[{i}] is not a whole number")
    if number < 0 or number >= classes:
        raise IndexError(f"labels[{i}] is {number}, but the classes are 0 to {classes - 1}")
    return number
