"""Train a network of two layers to classify whether points lie within a ring.

python -m pykernels run examples/neuron/two_layer_network/train.py
"""

import math

import torch
from layers import dense, leaky_relu

torch.manual_seed(0)
points = torch.rand(256, 2) * 2 - 1
radius = points.norm(dim=1)
labels = ((radius > 0.4) & (radius < 0.9)).long()
rows = torch.cat([points, torch.ones(256, 1)], dim=1)  # the last input is a constant

first = torch.nn.Parameter(torch.randn(24, 3))
second = torch.nn.Parameter(torch.randn(2, 24) / math.sqrt(24))
optimizer = torch.optim.Adam([first, second], lr=0.05)
for step in range(201):
    scores = dense(leaky_relu(dense(rows, first), 0.1), second)
    loss = torch.nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        right = (scores.argmax(dim=1) == labels).float().mean()
        print(f"step {step:3}: loss {loss.item():.3f}, {right.item():.0%} right")
