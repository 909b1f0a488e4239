"""A stand-in for ``torch_neuronx.xla_impl.custom_op``: build custom C++ operators for the CPU and load them."""

from __future__ import annotations

from pykernels.vendors.neuron.loading import load, load_library

__all__ = ["load", "load_library"]
