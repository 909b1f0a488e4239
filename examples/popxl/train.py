"""Train a network of two layers with a custom op in between, on points inside and outside of a ring.

python -m pykernels run train.py
"""

from typing import NamedTuple

import numpy as np
import popxl
from popxl import ops
from popxl.transforms import autodiff
from squash_op import squash

FEATURES, HIDDEN, CLASSES, BATCH = 2, 16, 2, 64
STEEPNESS, LEARNING_RATE = 0.5, 0.5


class Layers(popxl.Module):
    """Map points to the scores of the classes."""

    def build(self, x):
        self.w1 = popxl.graph_input((FEATURES, HIDDEN), popxl.float32, "w1")
        self.b1 = popxl.graph_input((HIDDEN,), popxl.float32, "b1")
        self.w2 = popxl.graph_input((HIDDEN, CLASSES), popxl.float32, "w2")
        self.b2 = popxl.graph_input((CLASSES,), popxl.float32, "b2")
        return squash(x @ self.w1 + self.b1, STEEPNESS) @ self.w2 + self.b2


class Training(NamedTuple):
    """Return an IR for one step, its streams, and the weights by name."""

    ir: popxl.Ir
    points: popxl.HostToDeviceStream
    labels: popxl.HostToDeviceStream
    loss: popxl.DeviceToHostStream
    scores: popxl.DeviceToHostStream
    weights: dict[str, popxl.Tensor]


def initial_weights():
    rng = np.random.default_rng(1)
    return {
        "w1": rng.normal(0, 1, (FEATURES, HIDDEN)).astype("float32"),
        "b1": rng.normal(0, 1, HIDDEN).astype("float32"),
        "w2": rng.normal(0, 0.1, (HIDDEN, CLASSES)).astype("float32"),
        "b2": np.zeros(CLASSES, "float32"),
    }


def batches(count):
    rng = np.random.default_rng(2)
    for _ in range(count):
        points = rng.uniform(-2, 2, (BATCH, FEATURES)).astype("float32")
        yield points, ((points**2).sum(1) < 2).astype("int32")


def make_training():
    ir = popxl.Ir()
    with ir.main_graph, popxl.in_sequence():
        points = popxl.h2d_stream((BATCH, FEATURES), popxl.float32, name="points")
        labels = popxl.h2d_stream((BATCH,), popxl.int32, name="labels")
        x, y = ops.host_load(points, "x"), ops.host_load(labels, "y")
        weights = {name: popxl.variable(value, name=name) for name, value in initial_weights().items()}

        layers = Layers()
        graph = ir.create_graph(layers, x)
        inputs = {getattr(layers, name): weight for name, weight in weights.items()}
        call = ops.call_with_info(graph, x, inputs_dict=inputs)
        z = call.outputs[0]
        value, dz = ops.nll_loss_with_softmax_grad(ops.softmax(z, axis=-1), y)

        info = autodiff(graph, grads_required=list(inputs))
        grads = ops.call(info.graph, dz, inputs_dict=info.inputs_dict(call))
        for weight, grad in zip(weights.values(), grads):
            ops.scaled_add_(weight, grad, b=-LEARNING_RATE)

        loss = popxl.d2h_stream(value.shape, value.dtype, name="loss")
        ops.host_store(loss, value)
        scores = popxl.d2h_stream(z.shape, z.dtype, name="scores")
        ops.host_store(scores, z)
    return Training(ir, points, labels, loss, scores, weights)


def main():
    training = make_training()
    with popxl.Session(training.ir, "ipu_model") as session:
        for step, (points, labels) in enumerate(batches(801)):
            outputs = session.run({training.points: points, training.labels: labels})
            if step % 200 == 0:
                right = (outputs[training.scores].argmax(1) == labels).mean()
                print(f"step {step:3}: loss {outputs[training.loss]:.3f}, {right:.0%} right")


if __name__ == "__main__":
    main()
