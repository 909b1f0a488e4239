"""Run an operator on all cores.

python -m pykernels run examples/neuron/clip_on_cores/clip.py
"""

from pathlib import Path

import torch
from torch_neuronx.xla_impl import custom_op

here = Path(__file__).parent
custom_op.load(
    name="cores", compute_srcs=[here / "kernel.cpp"], shape_srcs=[here / "shape.cpp"], multicore=True, verbose=False
)

torch.manual_seed(0)
x = 3 * torch.randn(100, 101)
y = torch.ops.cores.clip(x, -1, 2.5)
print("equal to torch.clip:", torch.equal(y, x.clip(-1, 2.5)))
