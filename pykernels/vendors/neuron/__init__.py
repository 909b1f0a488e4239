"""A stand-in for ``torch_neuronx`` of the AWS Neuron SDK: custom C++ operators on the CPU.

After ``import pykernels.vendors.neuron``, ``from torch_neuronx.xla_impl import custom_op`` works without Neuron's
packages; if they are installed, it imports theirs.
"""

from __future__ import annotations

from pykernels.vendors.providing import missing, provide

provide("torch_neuronx", __name__)

__getattr__ = missing("torch_neuronx", ["xla_impl.custom_op"], __name__)
