"""``torch_neuronx.xla_impl.custom_op``: libraries of custom C++ operators, built for the CPU and loaded."""

from __future__ import annotations

from pykernels.vendors.neuron.loading import load, load_library

__all__ = ["load", "load_library"]
