"""Smooth a noisy curve with an operator that streams.

python -m pykernels run examples/neuron/smoothing/smooth.py
"""

from pathlib import Path

import torch
from torch_neuronx.xla_impl import custom_op

here = Path(__file__).parent
custom_op.load(name="smoothing", compute_srcs=[here / "kernel.cpp"], shape_srcs=[here / "shape.cpp"])

torch.manual_seed(0)
curve = torch.linspace(0, 6, 600).sin()
noisy = curve + 0.3 * torch.randn(600)
smooth = torch.ops.smoothing.smooth(noisy, 0.1)
for name, values in (("noisy", noisy), ("smooth", smooth)):
    print(f"{name}: {(values - curve).square().mean().sqrt():.2f} off the curve")
