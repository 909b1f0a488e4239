"""A stand-in for ``torch_neuronx.xla_impl``, which holds `custom_op`."""
